package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

// A place is the working directory of a call. Nothing outside of it can be reached through it.
type place struct {
	*os.Root
	dir string // absolute
}

// openPlace opens the working directory of a call, which the caller closes. It also returns the
// name of the path there.
func openPlace(call chat.Call, path string) (p *place, name string, err error) {
	dir, err := workingDir(call)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", &hostError{fmt.Errorf("working directory: %w", err)}
	}
	p = &place{Root: root, dir: dir}
	if name, err = p.within(path); err != nil {
		return nil, "", errors.Join(err, p.Close())
	}
	return p, name, nil
}

// workingDir returns the working directory of a call.
func workingDir(call chat.Call) (string, error) {
	dir := call.Session.WorkingDir
	if !filepath.IsAbs(dir) {
		return "", &hostError{fmt.Errorf("working directory %q of the session is not an absolute path", dir)}
	}
	return filepath.Clean(dir), nil
}

// within turns a path that a model wrote into one relative to the working directory. It looks at
// names only; os.Root checks where links lead.
func (p *place) within(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("the path %s contains a NUL", quoted(path))
	}
	name := filepath.Clean(path)
	if filepath.IsAbs(name) {
		name = p.relative(name)
	}
	if !filepath.IsLocal(name) {
		return "", p.outside(path)
	}
	return name, nil
}

// relative returns an absolute path relative to the working directory. The directory may have two
// names: one that leads through links, and the one that the system reports.
func (p *place) relative(name string) string {
	dirs := []string{p.dir}
	if real, err := filepath.EvalSymlinks(p.dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return name
}

func (p *place) outside(path string) error {
	return fmt.Errorf("%s is outside the working directory %s, and the file tools reach nothing else", quoted(path), p.dir)
}

// escapes is the text of os.Root's error for a path that leads out. Package os has no name for that
// error.
const escapes = "path escapes from parent"

// refusal returns an error that explains the system's error for a path.
func (p *place) refusal(path string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err // inner.Path is not the path that the model wrote
	} else if inner, ok := errors.AsType[*os.LinkError](err); ok {
		err = inner.Err
	}
	switch {
	case err.Error() == escapes:
		return fmt.Errorf("%s is, or is below, a link that leads outside the working directory %s or is absolute: "+
			"the file tools reach nothing else", quoted(path), p.dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist in %s: list_files shows what is there (%w)", quoted(path), p.dir, err)
	}
	return fmt.Errorf("%s: %w", quoted(path), err)
}

// openFile opens a file for reading if it is a regular file. Opening a named pipe would wait for
// its writer, and opening a device can have effects. openFile checks the kind of the file before it
// opens the file. It checks again afterwards, because the file may have been exchanged.
func (p *place) openFile(path, name string) (*os.File, fs.FileInfo, error) {
	info, err := p.Stat(name)
	if err != nil {
		return nil, nil, p.refusal(path, err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	f, err := p.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, p.refusal(path, err)
	}
	info, err = f.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// checkRegular returns an error if the file is not a regular file.
func checkRegular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a directory: list_files shows what is in it", quoted(path))
	default:
		return fmt.Errorf("%s is %s, not a regular file", quoted(path), kind(mode))
	}
}

// kind names the type of a file that is neither regular nor a directory.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
