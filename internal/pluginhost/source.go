package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// ExportPython writes the Python package of the python protocol's API, the code
// that runs its plugins here, below a directory of the caller's, and returns what
// is to go into PYTHONPATH: programs then say `from plugins import …`.
func ExportPython(dir string) (path string, err error) {
	return python.Export(filepath.Join(dir, "python"), Version)
}

// SourceDialect is the dialect whose plugins are single files of code, which a
// host can show, check, save and reload.
const SourceDialect = python.Name

// A Source is such a plugin.
type Source struct {
	Name     string
	File     string // the name of its file, by which it is known as well
	Path     string
	Hooks    []string        // in the order of a request
	Metadata json.RawMessage // what the code says of itself, an object
	Content  string          // the code; only [Host.Source] fills it in
	Err      error           // why it is not ready

	// Of code that was checked alone:
	Warnings []string
	NotRun   error // why it was read and not run; nil: it ran

	called string // what code that was checked calls itself
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
	content, err := plainfile.Read(path, maxSource)
	if _, tooLarge := errors.AsType[*plainfile.SizeError](err); tooLarge {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSource)
	} else if !errors.Is(err, plainfile.ErrKind) {
		return string(content), err
	}
	return "", hook.Failure(hook.Unavailable, err)
}

// CheckSource says what code would be as a plugin of that name, without saving
// it. Code that is none is a [*CodeError]. The code runs in a sandbox in which there is nothing but the interpreter and its packages,
// and the error says where that may be why it fails. Where there is no sandbox, the code is read and not run.
func (h *Host) CheckSource(ctx context.Context, name, content string) (Source, error) {
	path, err := h.sourcePath(name)
	if err != nil {
		return Source{}, err
	}
	s, err := h.trySource(ctx, name, content)
	s.Path = path
	return s, err
}

// trySource is the check itself, whatever the name is.
func (h *Host) trySource(ctx context.Context, name, content string) (Source, error) {
	rt := h.runtime(h.sourceLog(name))
	try := (*python.Dialect).Validate
	notRun := h.trialBox(rt)
	if notRun != nil {
		rt.Log.Info("code is checked without being run", "err", notRun)
		try = (*python.Dialect).Inspect
	}
	s, err := h.tryOut(ctx, rt, python.Draft{Name: name, Content: content}, try)
	s.NotRun = notRun
	return s, python.Tried(err)
}

// CheckFile does what [Host.CheckSource] does for the code in a file, wherever that is, and whatever it is called: the file of a plugin may
// have any name. A [*CodeError] has the file's path.
func (h *Host) CheckFile(ctx context.Context, path string) (Source, error) {
	content, err := readSource(path)
	if err != nil {
		return Source{}, err
	}
	s, err := h.trySource(ctx, python.FileName(path), content)
	s.Path = path
	if fault, ok := errors.AsType[*CodeError](err); ok {
		placed := *fault
		placed.Problem.Path = path
		return s, &placed
	}
	return s, err
}

// trialBox makes the runtime's sandbox one in which code has nothing, or says why there is none.
func (h *Host) trialBox(rt *dialect.Runtime) error {
	if h.setup().config.Sandbox == config.SandboxOff {
		return errors.New("the configuration says sandbox = \"off\"")
	}
	system := h.system()
	if err := system.Possible(); err != nil {
		return err
	}
	guarded, err := h.guarded(nil)
	if err != nil {
		return err
	}
	rt.Box = func(...string) proc.Box {
		return sandbox.New(sandbox.Options{Environ: h.setup().Environ, Guarded: guarded, System: system, Log: rt.Log})
	}
	return nil
}

// SaveSource checks code, replaces the plugin's file with it as a whole, and
// loads it. The code is checked as it is loaded then: with what the configuration gives that plugin, and within what it is held to. Where the
// code is no plugin, all stays as it is, and so it does where the file is a link: [ErrLink].
func (h *Host) SaveSource(ctx context.Context, name, content string) (Source, error) {
	if err := h.refuseLink(name); err != nil {
		return Source{}, err
	}
	checked, err := h.loadDraft(ctx, name, content)
	if err != nil {
		return Source{}, err
	}
	if owner := h.ownerOf(checked); owner != "" {
		return Source{}, fmt.Errorf("%w: the code calls itself %q, which is the name of %s", ErrBadName, checked.called, owner)
	}
	if err := python.Save(h.setup().env, name, content); err != nil {
		return Source{}, hook.Failure(hook.Unavailable, err)
	}
	_, err = h.ReloadSource(ctx, name)
	return checked, err
}

// CreateSource does what [Host.SaveSource] does for a plugin that has no file yet. Where there is one, all stays as it is, and
// the error wraps [fs.ErrExist].
func (h *Host) CreateSource(ctx context.Context, name, content string) (Source, error) {
	path, err := python.Path(h.setup().env, name)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrBadName, err)
	}
	if _, err := os.Lstat(path); err == nil {
		return Source{Name: name, File: name, Path: path}, fmt.Errorf("plugin %s: %w: %s", name, fs.ErrExist, path)
	}
	return h.SaveSource(ctx, name, content)
}

// loadDraft runs code as the plugin of that name is run when it is loaded.
func (h *Host) loadDraft(ctx context.Context, name, content string) (Source, error) {
	path, err := h.sourcePath(name)
	if err != nil {
		return Source{}, err
	}
	draft := &entry{found: dialect.Found{Dialect: SourceDialect, Name: name, Path: path}}
	draft.names = bearerOf(draft.found)
	names := h.roster().names
	if !names.has(draft.names) {
		names = append(slices.Clone(names), draft.names)
	}
	if h.configure(draft, names); draft.err != nil {
		return Source{}, hook.Failure(hook.Unavailable, draft.err)
	}
	rt := h.runtime(h.sourceLog(name))
	if err := h.confine(draft, rt); err != nil {
		return Source{}, hook.Failure(hook.Unavailable, err)
	}
	s, err := h.tryOut(ctx, rt, python.Draft{Name: name, Content: content, Env: draft.settings.Env}, (*python.Dialect).Validate)
	s.Path = path
	return s, err
}

// sourcePath is where the plugin of a name is saved. A name under which none can be is [ErrBadName].
func (h *Host) sourcePath(name string) (string, error) {
	path, err := python.Path(h.setup().env, name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadName, err)
	}
	return path, nil
}

func (h *Host) sourceLog(name string) *slog.Logger {
	return h.setup().Logger.With("plugin", name, "dialect", SourceDialect)
}

// ownerOf is the other file whose name the code of a source calls itself by; "" where there is none.
func (h *Host) ownerOf(s Source) string {
	if s.called == s.File {
		return "" // the name of its own file, whoever else calls itself so
	}
	if path, err := python.Path(h.setup().env, s.called); err == nil {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	if e := h.knownSource(s.called); e != nil && e.found.Path != s.Path {
		return e.found.Path
	}
	return ""
}

// refuseLink: to save is to replace a file of this directory, not one elsewhere.
func (h *Host) refuseLink(name string) error {
	path, err := python.Path(h.setup().env, name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadName, err)
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%w: %s leads to %.200q: change that file, or delete the plugin first", ErrLink, path, target)
	}
	return nil
}

// tryOut lets an interpreter of its own look at code.
func (h *Host) tryOut(ctx context.Context, rt *dialect.Runtime, draft python.Draft,
	try func(*python.Dialect, context.Context, *dialect.Runtime, python.Draft) (*python.Validated, error)) (Source, error) {
	v, err := try(python.New(), ctx, rt, draft)
	if err != nil {
		return Source{}, err
	}
	return Source{Name: v.Name, File: draft.Name, Hooks: orEmpty(v.Hooks), Metadata: v.Metadata, Warnings: v.Warnings, called: v.Called}, nil
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

// knownSource goes by the name of a file, then by what plugins call themselves:
// a file's name is its own.
func (h *Host) knownSource(name string) *entry {
	var called *entry
	for _, e := range h.roster().entries {
		switch {
		case e.found.Dialect != SourceDialect:
		case e.names.place == name:
			return e
		case e.info.Name == name && called == nil:
			called = e
		}
	}
	return called
}

func source(e *entry) Source {
	s := Source{Name: e.info.Name, File: e.names.place, Path: e.found.Path, Hooks: []string{}, Metadata: json.RawMessage("{}"), Err: e.err}
	if p, ok := e.plugin.(python.Plugin); ok {
		s.Hooks, s.Metadata, s.Err = orEmpty(p.Info().Hooks), p.Metadata(), p.Status().Err
	}
	return s
}

// Version is what the code says of its version; "" where it says nothing.
func (s *Source) Version() string {
	metadata, err := rawjson.Parse(s.Metadata)
	if err != nil {
		return ""
	}
	version, _ := metadata.String("version")
	return version
}
