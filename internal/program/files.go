package program

import (
	"io/fs"
	"os"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/filestate"
)

// maxFiles bounds the cache of program files. If it is full, it is emptied.
const maxFiles = 1024

// A file holds what a start needs to know of a program's content and rights.
type file struct {
	line       hashBang // its #! line, if it has one
	privileged bool     // the kernel gives it more rights than the host has
}

// files caches data about program files, each as long as it is the same file and unchanged. Reading
// a file at each start would cost more than everything else that is added to a plain spawn.
type files struct {
	mu    sync.Mutex // protects known
	known map[string]knownFile
}

type knownFile struct {
	state filestate.State
	file
}

// look returns the data about a file, from the cache if the file has not changed.
func (f *files) look(path string) file {
	info, err := os.Stat(path)
	if err != nil {
		return file{}
	}
	state := filestate.Of(info)
	if !state.Certain() {
		return readFile(path, info)
	}
	f.mu.Lock()
	known := f.known[path]
	f.mu.Unlock()
	if known.state == state {
		return known.file
	}
	known = knownFile{state: state, file: readFile(path, info)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxFiles {
		f.known = make(map[string]knownFile)
	}
	f.known[path] = known
	return known.file
}

func readFile(path string, info fs.FileInfo) file {
	return file{line: interpreterLine(Head(path)), privileged: gainsPrivileges(path, info)}
}
