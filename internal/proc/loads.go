package proc

import (
	"debug/elf"
	"slices"
)

// maxLoads bounds how many interpreters deep a script may be; the kernel itself gives up at five.
const maxLoads = 5

// Loads are the files that are executed when a program is started in an environment: the program itself, the interpreter of its
// #! line, what env finds for it; and apart from those the loaders of all that are linked dynamically. Links are not followed.
func Loads(path string, env []string) (programs, loaders []string) {
	add := func(list *[]string, file string) {
		if file != "" && !slices.Contains(*list, file) {
			*list = append(*list, file)
		}
	}
	for range maxLoads {
		add(&programs, path)
		line := interpreterLine(readHead(path))
		if line.path == "" {
			add(&loaders, loaderAt(path))
			break
		}
		add(&programs, line.path)
		add(&loaders, loaderAt(line.path))
		path = line.find(env)
		if path == "" || path == line.path {
			break
		}
	}
	return programs, loaders
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
