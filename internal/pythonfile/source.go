package pythonfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Dialect is the dialect's name.
const Dialect = python.Name

// Export writes the Python package that runs python plugins below dir, and returns the directory
// for PYTHONPATH. Programs can then use `from plugins import …`.
func Export(dir string) (path string, err error) {
	return python.Export(filepath.Join(dir, "python"), pluginhost.Version)
}

// A Source is a plugin with its code.
type Source struct {
	Name     string
	File     string // the name of its file, which also names the plugin
	Path     string
	Hooks    []string        // in the order in which a request calls them
	Metadata json.RawMessage // __plugin__, an object
	Content  string          // the code; only [Files.Get] sets it
	Err      error           // why it is not ready

	// Only of code that was checked:
	Warnings []python.Warning
	NotRun   error // why it was read and not run; nil: it ran

	called string // the name that the code gives itself
}

// A CodeError says why code is not a plugin, and where.
type CodeError = python.LoadError

// ErrBadName is returned for a name under which no plugin can be saved.
var ErrBadName = errors.New("not a plugin's name")

// ErrLink is returned when code would be saved over a link, which may lead to any file.
var ErrLink = errors.New("the plugin's file is a link")

// maxSource limits the file that is shown, to four times what the daemon accepts.
const maxSource = 4 << 20

// Files are the code files of a host.
type Files struct{ host *pluginhost.Host }

// Of returns the files of a host.
func Of(host *pluginhost.Host) Files { return Files{host} }

// List lists the plugins, including those that were added since the host was opened.
func (f Files) List(ctx context.Context) ([]Source, error) {
	if err := f.host.Refresh(ctx, Dialect); err != nil {
		return nil, err
	}
	var list []Source
	for _, m := range f.host.Members(Dialect) {
		list = append(list, source(m))
	}
	return list, nil
}

// Get returns one plugin with its code.
func (f Files) Get(ctx context.Context, name string) (Source, error) {
	m, err := f.find(ctx, name)
	if err != nil {
		return Source{}, err
	}
	s := source(*m)
	if s.Content, err = read(s.Path); err != nil {
		return Source{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	return s, nil
}

// read reads a file of code. It refuses a file that is too large, or is a named pipe or a device:
// the file may have been replaced since it was found.
func read(path string) (string, error) {
	content, err := plainfile.Read(path, maxSource)
	if _, tooLarge := errors.AsType[*plainfile.SizeError](err); tooLarge {
		err = dialect.WithFix(fmt.Errorf("%s has more than %d MiB", path, maxSource>>20), "move data out of the code, into a file that the plugin reads")
	} else if !errors.Is(err, plainfile.ErrKind) {
		return string(content), err
	}
	return "", hook.Failure(hook.Unavailable, err)
}

// Reload loads a plugin's file again.
func (f Files) Reload(ctx context.Context, name string) (Source, error) {
	before := f.known(name)
	m, err := f.find(ctx, name)
	if err != nil {
		return Source{}, err
	}
	if m.Plugin == nil { // it is broken, or disabled
		return Source{}, hook.Failure(hook.Unavailable, m.Err)
	}
	if before != nil && before.Plugin == m.Plugin { // it was not opened just now
		if err := m.Plugin.(python.Plugin).Reload(ctx); err != nil {
			return Source{}, err
		}
		if m, err = f.find(ctx, m.Place); err != nil { // it may have another name now
			return Source{}, err
		}
	}
	return source(*m), nil
}

// Delete removes a plugin's file and closes the plugin.
func (f Files) Delete(ctx context.Context, name string) error {
	m, err := f.find(ctx, name)
	if err != nil {
		return err
	}
	if m.Found.Project != "" {
		return hook.Failure(hook.Unavailable, fmt.Errorf("plugin %s: %w: %s", name, pluginhost.ErrOfProject, m.Found.Project))
	}
	if err := os.Remove(m.Found.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("plugin %s: %w", name, err)
	}
	if err := f.host.Deleted(Dialect, m.Place); err != nil {
		return err
	}
	return f.host.Refresh(ctx, Dialect)
}

// find finds a plugin, after it has looked for new ones.
func (f Files) find(ctx context.Context, name string) (*pluginhost.Member, error) {
	if err := f.host.Refresh(ctx, Dialect); err != nil {
		return nil, err
	}
	if m := f.known(name); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("plugin %s: %w", name, pluginhost.ErrNotFound)
}

// known finds a plugin by the name of its file, or else by the name that the plugin gives itself:
// docs/protocols/python.md, row P19.
func (f Files) known(name string) *pluginhost.Member {
	var called *pluginhost.Member
	for _, m := range f.host.Members(Dialect) {
		switch {
		case m.Place == name:
			return &m
		case m.Info.Name == name && called == nil:
			called = &m
		}
	}
	return called
}

func source(m pluginhost.Member) Source {
	s := Source{Name: m.Info.Name, File: m.Place, Path: m.Found.Path, Hooks: []string{}, Metadata: json.RawMessage("{}"), Err: m.Err}
	if p, ok := m.Plugin.(python.Plugin); ok {
		s.Hooks, s.Metadata, s.Err = orEmpty(p.Info().Hooks), p.Metadata(), p.Status().Err
	}
	return s
}

// orEmpty returns a list that is encoded as [], not null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Version returns the version in the code's metadata, or "".
func (s *Source) Version() string {
	metadata, err := rawjson.Parse(s.Metadata)
	if err != nil {
		return ""
	}
	version, _ := metadata.String("version")
	return version
}
