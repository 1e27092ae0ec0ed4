package dotagent

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/filestate"
)

// listings remembers which plugins are in a folder for as long as the folder does not change. A
// host searches at its start, before each turn and for each report, and $PATH has folders with
// thousands of files.
type listings struct {
	mu    sync.Mutex // protects known
	known map[string]listing
}

// A listing is the content of a folder at one moment.
type listing struct {
	folder filestate.State
	files  []string // those with a plugin's name, sorted
}

// minAge is how old the last change of a folder must be before its listing is remembered. File
// systems round the time of a change, some to two seconds. A second change within that time would
// not be noticed.
const minAge = 3 * time.Second

// filesIn lists the files of a folder that have a plugin's name. It returns nil if the folder
// cannot be read; [Dialect.Examine] reports why.
func (l *listings) filesIn(dir string) []string {
	info, err := os.Stat(dir) // before the folder is read, so that a change during the reading is noticed the next time
	if err != nil {
		return nil
	}
	folder := filestate.Of(info)
	l.mu.Lock()
	defer l.mu.Unlock()
	if old, ok := l.known[dir]; ok && old.folder == folder {
		return old.files
	}
	delete(l.known, dir)
	files, err := readFiles(dir)
	if err != nil {
		return nil
	}
	if folder.Certain() && time.Since(folder.Last()) > minAge {
		if l.known == nil {
			l.known = make(map[string]listing)
		}
		l.known[dir] = listing{folder, files}
	}
	return files
}

// atOnce is how many names of a folder are read at once. Nearly all of them are dropped before the
// next ones are read, so that a list of thousands is never in memory.
const atOnce = 256

// readFiles lists the files of a folder that have a plugin's name. It reads only names, no
// metadata.
func readFiles(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var files []string
	for {
		names, err := f.Readdirnames(atOnce)
		for _, name := range names {
			if strings.HasPrefix(name, filePrefix) {
				files = append(files, name)
			}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(files)
			return files, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
