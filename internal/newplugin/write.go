package newplugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists is wrapped by the error of Write if something has the plugin's name already.
var ErrExists = errors.New("is there already")

// Write writes the plugin into a directory of its name below parent, which must exist. It writes
// all of it or nothing, and never changes existing files.
func (p *Plan) Write(parent string) (dir string, err error) {
	dir = filepath.Join(parent, p.Name)
	if err := Free(dir); err != nil {
		return dir, err
	}
	work, err := os.MkdirTemp(parent, "."+p.Name+"-")
	if err != nil {
		return dir, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	made := filepath.Join(work, p.Name) // a new directory, because work has mode 0700
	for _, f := range p.Files {
		if err := writeFile(filepath.Join(made, filepath.FromSlash(f.Path)), f); err != nil {
			return dir, err
		}
	}
	return dir, os.Rename(made, dir) // it replaces neither a file nor a directory that is not empty
}

// Free reports whether a plugin can be written to a directory: nothing may have its name, not even
// a broken link.
func Free(dir string) error {
	_, err := os.Lstat(dir)
	switch {
	case err == nil:
		return fmt.Errorf("%s %w", dir, ErrExists)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

func writeFile(path string, f File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(f.Text), f.Mode)
}
