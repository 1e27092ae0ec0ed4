package patchbay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/dialect/python"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// SourceDialect is the dialect whose plugins are single files of code, which a
// host can show, check, save and reload.
const SourceDialect = python.Name

// A Source is such a plugin.
type Source struct {
	Name     string
	Path     string
	Hooks    []string        // in the order of a request
	Metadata json.RawMessage // what the code says of itself, an object
	Content  string          // the code; only [Host.Source] fills it in
	Err      error           // why it is not ready
}

// A CodeError is code that is no plugin, and where it goes wrong.
type CodeError = python.LoadError

// ErrBadName is returned for a name under which no plugin can be saved.
var ErrBadName = errors.New("not a plugin's name")

// ErrLink is returned when code is to be saved where there is a link. What it leads to may be anybody's file.
var ErrLink = errors.New("the plugin's file is a link")

// maxSource is how much of a file is shown: four times what the daemon takes.
const maxSource = 4 << 20

// Sources lists the plugins that are files of code, those that have come since
// the host was opened included.
func (h *Host) Sources(ctx context.Context) ([]Source, error) {
	if err := h.Refresh(ctx, SourceDialect); err != nil {
		return nil, err
	}
	var list []Source
	for _, e := range h.roster().entries {
		if e.found.Dialect == SourceDialect {
			list = append(list, source(e))
		}
	}
	return list, nil
}

// Source is one of them, with its code.
func (h *Host) Source(ctx context.Context, name string) (Source, error) {
	e, err := h.sourceEntry(ctx, name)
	if err != nil {
		return Source{}, err
	}
	s := source(e)
	if s.Content, err = readSource(s.Path); err != nil {
		return Source{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	return s, nil
}

// readSource reads a file that somebody may have made endless, or a named pipe, since it was found.
func readSource(path string) (string, error) {
	f, err := proc.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	if err == nil && len(content) > maxSource {
		err = hook.Failure(hook.Unavailable, fmt.Errorf("%s has more than %d bytes", path, maxSource))
	}
	return string(content), err
}

// CheckSource says what code would be as a plugin of that name, without saving
// it. Code that is none is a [*CodeError].
func (h *Host) CheckSource(ctx context.Context, name, content string) (Source, error) {
	return h.tryOut(ctx, name, content, (*python.Dialect).Validate)
}

// SaveSource checks code, replaces the plugin's file with it as a whole, and
// loads it. Where the code is no plugin, all stays as it is, and so it does where
// the file is a link: [ErrLink].
func (h *Host) SaveSource(ctx context.Context, name, content string) (Source, error) {
	if err := h.refuseLink(name); err != nil {
		return Source{}, err
	}
	checked, err := h.CheckSource(ctx, name, content)
	if err != nil {
		return Source{}, err
	}
	if e := h.knownSource(checked.Name); e != nil && e.found.Path != checked.Path {
		return Source{}, fmt.Errorf("%w: the code calls itself %q, which is the name of %s", ErrBadName, checked.Name, e.found.Path)
	}
	s, err := h.tryOut(ctx, name, content, (*python.Dialect).Save)
	if err != nil {
		return Source{}, err
	}
	_, err = h.ReloadSource(ctx, name)
	return s, err
}

// refuseLink: to save is to replace a file of this directory, not one elsewhere.
func (h *Host) refuseLink(name string) error {
	path, err := python.Path(h.setup.env, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadName, err)
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%w: %s leads to %.200q: change that file, or delete the plugin first", ErrLink, path, target)
	}
	return nil
}

// tryOut lets an interpreter of its own look at code.
func (h *Host) tryOut(ctx context.Context, name, content string,
	do func(*python.Dialect, context.Context, *dialect.Runtime, string, string) (*python.Validated, error)) (Source, error) {
	path, err := python.Path(h.setup.env, name)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrBadName, err)
	}
	log := h.setup.Logger.With("plugin", name, "dialect", SourceDialect)
	v, err := do(python.New(), ctx, h.runtime(log), name, content)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: v.Name, Path: path, Hooks: orEmpty(v.Hooks), Metadata: v.Metadata}, nil
}

// ReloadSource loads a plugin's file again.
func (h *Host) ReloadSource(ctx context.Context, name string) (Source, error) {
	known := h.knownSource(name)
	e, err := h.sourceEntry(ctx, name)
	if err != nil {
		return Source{}, err
	}
	if e.plugin == nil {
		return Source{}, e.err
	}
	if e == known { // and was not opened only just now
		if err := e.plugin.(python.Plugin).Reload(ctx); err != nil {
			return Source{}, err
		}
	}
	return source(e), nil
}

// DeleteSource removes a plugin's file and closes the plugin.
func (h *Host) DeleteSource(ctx context.Context, name string) error {
	e, err := h.sourceEntry(ctx, name)
	if err != nil {
		return err
	}
	if err := os.Remove(e.found.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("plugin %s: %w", name, err)
	}
	return h.Refresh(ctx, SourceDialect)
}

// sourceEntry finds a plugin that is a file of code, looking again for new ones.
func (h *Host) sourceEntry(ctx context.Context, name string) (*entry, error) {
	if err := h.Refresh(ctx, SourceDialect); err != nil {
		return nil, err
	}
	if e := h.knownSource(name); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("plugin %s: %w", name, ErrNotFound)
}

// knownSource goes by the name a plugin gave itself, then by its file's: one
// that cannot be loaded has no other.
func (h *Host) knownSource(name string) *entry {
	var byFile *entry
	for _, e := range h.roster().entries {
		switch {
		case e.found.Dialect != SourceDialect:
		case e.info.Name == name:
			return e
		case strings.TrimSuffix(filepath.Base(e.found.Path), filepath.Ext(e.found.Path)) == name:
			byFile = e
		}
	}
	return byFile
}

func source(e *entry) Source {
	s := Source{Name: e.info.Name, Path: e.found.Path, Hooks: []string{}, Metadata: json.RawMessage("{}"), Err: e.err}
	if p, ok := e.plugin.(python.Plugin); ok {
		s.Hooks, s.Metadata, s.Err = orEmpty(p.Info().Hooks), p.Metadata(), p.Status().Err
	}
	return s
}
