package proc

import (
	"debug/elf"
	"slices"
)

// maxLoads bounds how many interpreters deep a script may be; the kernel itself gives up at five.
const maxLoads = 5

// Loads are the files that are executed when a program is started in an environment: the program itself, the interpreter of its
// #! line, what env finds for it, and the loaders of those that are linked dynamically. Links are not followed.
func Loads(path string, env []string) []string {
	var files []string
	add := func(file string) {
		if file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	for range maxLoads {
		add(path)
		line := interpreterLine(readHead(path))
		if line.path == "" {
			add(loaderAt(path))
			break
		}
		add(line.path)
		add(loaderAt(line.path))
		path = line.find(env)
		if path == "" || path == line.path {
			break
		}
	}
	return files
}

// loaderAt is the loader of an ELF program, empty for any other file.
func loaderAt(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	return loaderOf(file)
}
