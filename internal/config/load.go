package config

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// Load reads and checks the config at path. A missing file is an empty config. All mistakes in the
// file are returned as one [*Error].
func Load(path string) (*Config, error) {
	f, err := plainfile.Open(path)
	if isAbsent(path, err) {
		c := Default()
		c.file = path
		return c, nil
	}
	if err != nil {
		return nil, unreadable("config", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	data, err := document.Read(f, path)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(path, data)
	if err != nil {
		return nil, err
	}
	c.mode = info.Mode()
	return c, nil
}

// isAbsent reports whether err says that there is no file at path. A link that leads to nothing is
// not an absent file: the file behind it may configure plugins that protect something, and nothing
// may run without them.
func isAbsent(path string, err error) bool {
	return errors.Is(err, fs.ErrNotExist) && plainfile.DeadLink(path) == ""
}

// unreadable returns the error of a file that cannot be opened, which is a problem of the
// configuration like any other.
func unreadable(what, path string, err error) error {
	at, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, plainfile.ErrKind):
		return &Error{Problems: []Problem{{File: path, Message: at.Err.Error(), Fix: "name a file, or put one there"}}}
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Problems: []Problem{{File: path, Message: "cannot be read: the link " + plainfile.DeadLink(path) + " leads to nothing", Fix: "restore what it leads to, or remove the link"}}}
	}
	fix := "`ls -l` shows its owner and who may read it"
	if errors.Is(err, syscall.ENOTDIR) {
		fix = "a part of this path is a file, and must be a directory: move the file away"
	}
	return &Error{Problems: []Problem{{File: path, Message: "cannot be read: " + at.Err.Error(), Fix: fix}}}
}

func parseConfig(path string, data []byte) (*Config, error) {
	top, err := document.TOML(path, data)
	if err != nil {
		return nil, err
	}
	c := readConfig(top)
	if err := top.Err(); err != nil {
		return nil, err
	}
	c.file, c.position = path, top.Position
	return c, nil
}
