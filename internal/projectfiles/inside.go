package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Files for Patchbay below the root of a project.
const (
	AgentsFile = "AGENTS.md"
	Dir        = ".patchbay"
	PluginsDir = Dir + "/plugins"
	PromptsDir = Dir + "/prompts"
)

// errLeaves is the error of a link out of the project.
var errLeaves = errors.New("is a link that leads out of the project")

// errForeign is the error of a file that another user owns.
var errForeign = errors.New("belongs to another user")

// A reading opens text files of one project.
type reading struct {
	root    *os.Root
	path    string
	trusted bool // also read files of other users
}

// open opens a regular file below the root.
func (r *reading) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := plainfile.OpenIn(r.root, filepath.FromSlash(name))
	if err != nil {
		return nil, nil, r.named(name, err)
	}
	info, err := f.Stat()
	if err == nil && foreign(info) && !r.trusted {
		err = fmt.Errorf("%s %w", name, errForeign)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// named adds the name of a file to an error, in plain words.
func (r *reading) named(name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if strings.Contains(err.Error(), "escapes") { // the os package has no error value for it
		err = errLeaves
	}
	return fmt.Errorf("%s: %w", name, err)
}

// realDir reports whether a directory below the root exists. A link, or anything else in its place,
// is an error.
func realDir(root, name string) (bool, error) {
	at := root
	for _, part := range strings.Split(name, "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return false, nil // a directory that we may not read has nothing for us
		case err != nil:
			return false, err
		case info.Mode()&fs.ModeSymlink != 0:
			return false, fmt.Errorf("%s is a link: put the directory itself there", at)
		case !info.IsDir():
			return false, fmt.Errorf("%s is not a directory", at)
		}
	}
	return true, nil
}

// anyForeign reports whether any of the paths belongs to another user. Paths that do not exist are
// ignored.
func anyForeign(dirs ...string) bool {
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && foreign(info) {
			return true
		}
	}
	return false
}
