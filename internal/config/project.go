package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// ProjectFile is the path of a project's configuration, below its root.
const ProjectFile = ".patchbay/config.toml"

// A Project is the configuration that comes with a project: `[plugins.NAME] config = {…}` and
// nothing else. Another person may have written it, so it grants nothing, starts nothing and holds
// no secrets.
type Project struct {
	Plugins map[string]map[string]any // the config of each plugin, by the plugin's name

	source
}

// File returns the path of the file, whether or not it exists.
func (p *Project) File() string { return p.file }

// LoadProject reads the configuration of the project at root. A missing file is an empty one. A
// symbolic link that leads out of the project is an error, as is every key but config.
func LoadProject(root string) (*Project, error) {
	path := filepath.Join(root, filepath.FromSlash(ProjectFile))
	empty := &Project{source: source{file: path}}
	data, err := readInside(root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := ParseProject(path, data)
	if e, ok := errors.AsType[*Error](err); ok && len(e.Problems) > 0 {
		last := &e.Problems[len(e.Problems)-1]
		last.Fix = strings.TrimPrefix(last.Fix+"; to go on without the file, remove it", "; ")
	}
	return p, err
}

// readInside reads the file, unless a symbolic link leads out of the root.
func readInside(root, path string) ([]byte, error) {
	dir, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fs.ErrNotExist // a directory that may not be listed counts as one without a configuration, because programs can still run in it
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := plainfile.OpenIn(dir, filepath.FromSlash(ProjectFile))
	switch {
	case err != nil && strings.Contains(err.Error(), "escapes"):
		return nil, &Error{Problems: []Problem{{File: path, Message: "is a link that leads out of the project",
			Fix: "put the file itself there, or remove it"}}}
	case errors.Is(err, plainfile.ErrKind):
		return nil, &Error{Problems: []Problem{{File: path, Message: plainfile.ErrKind.Error()}}}
	case err != nil:
		return nil, fmt.Errorf("project config: %w", err)
	}
	defer f.Close()
	return document.Read(f, path)
}

// ParseProject parses the text of a project's configuration.
func ParseProject(path string, data []byte) (*Project, error) {
	top, err := document.TOML(path, data)
	if err != nil {
		return nil, err
	}
	p := &Project{Plugins: make(map[string]map[string]any)}
	reportOtherKeys(top, "plugins")
	plugins := top.Table("plugins")
	for _, name := range plugins.Names() {
		t := plugins.Table(name)
		reportOtherKeys(t, "config")
		if config := t.Free("config"); config != nil {
			p.Plugins[name] = config
		}
	}
	if err := top.Err(); err != nil {
		return nil, err
	}
	p.file, p.position = path, top.Position
	return p, nil
}

// reportOtherKeys reports every other key as a mistake, so that none is ignored silently.
func reportOtherKeys(t *document.Table, allowed string) {
	for _, name := range t.Names() {
		if name != allowed {
			t.Bad(name, "take it out, or put it into your own config.toml", "a project's configuration has nothing but [plugins.NAME] config")
		}
	}
}

// ParseConfig parses the text of a config.toml.
func ParseConfig(path string, data []byte) (*Config, error) { return parseConfig(path, data) }

// Over merges two tables, and their nested tables. Any other value in the table above replaces the
// one in the table below.
func Over(below, above map[string]any) map[string]any {
	if below == nil || above == nil {
		if above == nil {
			return below
		}
		return above
	}
	out := maps.Clone(below)
	for name, value := range above {
		old, isTable := out[name].(map[string]any)
		if table, ok := value.(map[string]any); ok && isTable {
			value = Over(old, table)
		}
		out[name] = value
	}
	return out
}
