package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// ErrNotNow is wrapped by the error of an action that does not fit the state of a plugin.
var ErrNotNow = errors.New("this action does not fit its state")

// Restart opens a plugin again, with its current files. Events in progress finish with the old one,
// which is closed after the last of them. If the plugin no longer works, it is listed as broken,
// and Restart returns no error. A python plugin, which shares its process with others, only loads
// its file again: if that fails, its old code stays, and Restart returns the error.
func (h *Host) Restart(ctx context.Context, plugin string) error {
	if h.isClosed() {
		return ErrClosed
	}
	e, err := h.find(plugin)
	if err != nil {
		return err
	}
	if e.state == dialect.Disabled {
		return fmt.Errorf("plugin %s: %w: it is disabled", e.info.Name, ErrNotNow)
	}
	if p, ok := e.plugin.(dialect.Reloader); !ok {
		e.again.Store(true)
	} else if err := p.Reload(ctx); err != nil { // it shares its process with other plugins
		return err
	}
	return h.Refresh(ctx, e.found.Dialect)
}

// MakeExecutable sets the execute permission of a plugin's file for its owner, if the lack of it
// keeps the plugin from starting, and searches for plugins again. It changes only files of plugins,
// and follows no symbolic link.
func (h *Host) MakeExecutable(ctx context.Context, plugin string) error {
	if h.isClosed() {
		return ErrClosed
	}
	dialectName, dir, file, err := h.inexecutable(plugin)
	if err != nil {
		return err
	}
	if err := addExecute(dir, file); err != nil {
		return fmt.Errorf("plugin %s: %w", plugin, err)
	}
	return h.Refresh(ctx, dialectName)
}

// inexecutable returns the file of a plugin that cannot be executed, and the plugin's directory.
func (h *Host) inexecutable(plugin string) (dialectName, dir, file string, err error) {
	e, err := h.find(plugin)
	if errors.Is(err, ErrNotFound) {
		if d, path, ok := h.unexecutableScript(plugin); ok {
			return d, filepath.Dir(path), filepath.Base(path), nil
		}
	}
	if err != nil {
		return "", "", "", err
	}
	path, ok := e.notExecutable()
	if !ok {
		return "", "", "", fmt.Errorf("plugin %s: %w: its file is executable, or something else is wrong with it", e.info.Name, ErrNotNow)
	}
	dir = filepath.Dir(e.found.Path)
	if info, err := os.Stat(e.found.Path); err == nil && info.IsDir() {
		dir = e.found.Path
	}
	file, err = filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(file) {
		return "", "", "", fmt.Errorf("plugin %s: %w: %s is not one of its own files", e.info.Name, ErrNotNow, path)
	}
	return e.found.Dialect, dir, file, nil
}

// notExecutable returns the file that could not be started because of its mode.
func (e *entry) notExecutable() (path string, ok bool) {
	start, ok := errors.AsType[*program.StartError](e.err)
	if !ok || !start.NotExecutable() {
		return "", false
	}
	return start.Path, true
}

// unexecutableScript returns the script with this name that its dialect ignores because it is not
// executable.
func (h *Host) unexecutableScript(name string) (dialectName, path string, ok bool) {
	chosen, err := h.setup().chosen()
	if err != nil {
		return "", "", false // unreachable: Open checked the same names
	}
	for _, d := range chosen {
		x, examines := d.(dialect.Examiner)
		if !examines {
			continue
		}
		for _, p := range x.Examine(h.setup().env) {
			if name == scriptName(d.Name(), p) {
				return d.Name(), p.Path, true
			}
		}
	}
	return "", "", false
}

// scriptName returns the name for a script that is ignored because it cannot be executed, or "" if
// that is not the problem.
func scriptName(dialectName string, p dialect.Problem) string {
	if !strings.HasPrefix(p.Fix, "chmod +x ") || dialect.Executable(p.Path) || !dialect.IsScript(p.Path) {
		return ""
	}
	base := filepath.Base(p.Path)
	return dialectName + ":" + strings.TrimSuffix(base, filepath.Ext(base))
}

// addExecute adds the owner's execute permission to a regular file in a directory.
func addExecute(dir, file string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is not a regular file", filepath.Join(dir, file), ErrNotNow)
	}
	return root.Chmod(file, info.Mode().Perm()|0o100)
}
