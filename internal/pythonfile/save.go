package pythonfile

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
)

// Save checks code, replaces the plugin's file with it atomically, and loads it. The code is
// checked as it will be loaded: with the settings of that plugin, and in its sandbox and limits. If
// the code is not a plugin, nothing changes. The same holds if the file is a link: [ErrLink].
func (f Files) Save(ctx context.Context, name, content string) (Source, error) {
	if err := f.refuseLink(name); err != nil {
		return Source{}, err
	}
	if python.Reserved(name) {
		return Source{}, fmt.Errorf("%w: %s: Python itself uses files of this name", ErrBadName, name)
	}
	if err := f.host.MayWrite(name); err != nil {
		return Source{}, err
	}
	checked, err := f.loadDraft(ctx, name, content)
	if err != nil {
		return Source{}, err
	}
	if owner := f.ownerOf(checked); owner != "" {
		return Source{}, fmt.Errorf("%w: the code calls itself %q, which is the name of %s: change \"name\" in its __plugin__", ErrBadName, checked.called, owner)
	}
	if err := python.Save(f.host.Env(), name, content); err != nil {
		return Source{}, hook.Failure(hook.Unavailable, err)
	}
	if err := f.host.Written(Dialect, name, checked.Path); err != nil {
		return Source{}, hook.Failure(hook.Unavailable, err)
	}
	_, err = f.Reload(ctx, name)
	return checked, err
}

// Create does the same as [Files.Save] for a plugin that has no file yet. If there is one, nothing
// changes, and the error wraps [fs.ErrExist].
func (f Files) Create(ctx context.Context, name, content string) (Source, error) {
	path, err := f.path(name)
	if err != nil {
		return Source{}, err
	}
	if _, err := os.Lstat(path); err == nil {
		return Source{Name: name, File: name, Path: path}, fmt.Errorf("plugin %s: %w: %s", name, fs.ErrExist, path)
	}
	return f.Save(ctx, name, content)
}

// loadDraft runs code as the plugin of that name is run when it is loaded.
func (f Files) loadDraft(ctx context.Context, name, content string) (Source, error) {
	path, err := f.path(name)
	if err != nil {
		return Source{}, err
	}
	rt, settings, err := f.host.Draft(dialect.Found{Dialect: Dialect, Name: name, Path: path})
	if err != nil {
		return Source{}, err
	}
	s, err := tryOut(ctx, rt, python.Draft{Name: name, Content: content, Env: settings.Env}, (*python.Dialect).Validate)
	s.Path = path
	return s, err
}

// ownerOf returns the other file that has the name which the code gives itself, or "".
func (f Files) ownerOf(s Source) string {
	if s.called == s.File {
		return "" // the name of its own file always belongs to it
	}
	if path, err := f.path(s.called); err == nil {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	if m := f.known(s.called); m != nil && m.Found.Path != s.Path {
		return m.Found.Path
	}
	return ""
}

// refuseLink returns an error if the plugin's file is a link: saving must not change a file
// elsewhere.
func (f Files) refuseLink(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%w: %s leads to %.200q: change that file, or delete the plugin first", ErrLink, path, target)
	}
	return nil
}
