package plugininstall

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// The dialects, each of which keeps its plugins in another form.
const (
	dotagent = "dotagent"
	mine     = "mine"
	kaged    = "kaged"
	scaffold = "scaffold"
	python   = "python"
)

// A Plugin is one that was found in a source.
type Plugin struct {
	Dialect      string            `json:"dialect"`
	Name         string            `json:"name"` // that of its place, once it is installed
	Path         string            `json:"path"` // in the source; ".": the source itself
	Capabilities []string          `json:"capabilities"`
	Problems     []dialect.Problem `json:"problems"` // what is wrong with its manifest
	Warning      string            `json:"warning"`  // why it would not start as it is; "": nothing is known

	found dialect.Found
}

// ID tells it from others: DIALECT:NAME.
func (p Plugin) ID() string { return p.Dialect + ":" + p.Name }

// mostDeep is how deep plugins are looked for in a source: an archive has a directory around all, and a collection
// one for each.
const mostDeep = 3

// passedOver are directories that hold no plugins of the source's own.
var passedOver = []string{"node_modules", "vendor", "venv", "testdata"}

// detect lists the plugins in the tree. Programs that could be plugins of scaffold count where nothing else is
// found: any program could be one.
func (f *Fetched) detect() []Plugin {
	var all, programs []Plugin
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		if found := f.folder(dir); len(found) > 0 {
			all = append(all, found...)
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir() && depth < mostDeep && !slices.Contains(passedOver, e.Name()):
				look(path, depth+1)
			case e.Type().IsRegular():
				if p, ok := f.file(path); ok && p.Dialect == scaffold {
					programs = append(programs, p)
				} else if ok {
					all = append(all, p)
				}
			}
		}
	}
	look(f.tree, 0)
	if len(all) == 0 {
		all = programs
	}
	return all
}

// folder are the plugins that a directory is.
func (f *Fetched) folder(dir string) []Plugin {
	var out []Plugin
	for _, found := range pluginhost.AllAt(dir, f.o.Environ, f.o.Dialects) {
		if found.Dialect == kaged || found.Dialect == mine {
			out = append(out, f.plugin(found, dir))
		}
	}
	return out
}

// file is the plugin that a file is.
func (f *Fetched) file(path string) (Plugin, bool) {
	for _, found := range pluginhost.AllAt(path, f.o.Environ, f.o.Dialects) {
		sole := f.Source.Kind == SingleFile
		switch found.Dialect {
		case dotagent:
			return f.plugin(found, path), true
		case python:
			if sole || isPythonPlugin(path) {
				return f.plugin(found, path), true
			}
		case scaffold:
			if sole || f.namesake(path) || isProgram(path) {
				return f.plugin(found, path), true
			}
		}
	}
	return Plugin{}, false
}

func (f *Fetched) plugin(found dialect.Found, path string) Plugin {
	rel, err := filepath.Rel(f.tree, path)
	if err != nil {
		rel = path
	}
	p := Plugin{Dialect: found.Dialect, Name: found.Name, Path: filepath.ToSlash(rel), Capabilities: pluginhost.CapabilitiesOf(found.Info), Problems: found.Problems, found: found}
	for i := range p.Problems { // where the operator finds it
		p.Problems[i].Path = strings.TrimPrefix(p.Problems[i].Path, f.tree+string(filepath.Separator))
	}
	if found.Err != nil && len(found.Problems) == 0 {
		p.Warning = strings.ReplaceAll(found.Err.Error(), f.tree+string(filepath.Separator), "")
	}
	return p
}

var pythonHook = pattern.New(`(?m)^\s*@(?:\w+\.)?on_(?:begin|tool_call|resolve_tool|tool_result|final|done)\b|^__plugin__\s*=`)

// isPythonPlugin tells a plugin from other Python code.
func isPythonPlugin(path string) bool {
	text, err := plainfile.Read(path, 4<<20)
	return err == nil && !strings.HasPrefix(filepath.Base(path), "_") && pythonHook.Regexp().Match(text)
}

// namesake tells whether a program has the name of its directory: then it is a plugin, even if it is called dev-tools.
func (f *Fetched) namesake(path string) bool {
	dir := filepath.Dir(path)
	if dir == f.tree {
		dir = f.Source.Path
	}
	return filepath.Base(path) == filepath.Base(dir) && dialect.Executable(path)
}

// tools are programs that come with sources and are no plugins.
var tools = pattern.New(`^(?i)(install|uninstall|setup|build|make|configure|test|run-?tests?|bootstrap|release|gradlew|mvnw|ci|lint|bench|dev)([._-].*)?$`)

// isProgram tells a program from other files that may be executed.
func isProgram(path string) bool {
	name := filepath.Base(path)
	if tools.MatchString(name) || strings.HasSuffix(name, ".so") || !dialect.Executable(path) {
		return false
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.ReadAt(head, 0) // a short file is no program
	head = head[:n]
	for _, magic := range []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// names are what the name of a plugin's place may be, by dialect. All are names of files that lead nowhere.
var names = map[string]pattern.Pattern{
	dotagent: pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`),
	mine:     pattern.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`),
	kaged:    pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`),
	scaffold: pattern.New(`^[A-Za-z][A-Za-z0-9-]{0,63}$`),
	python:   pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`),
}

// check refuses a plugin that cannot be installed as it is.
func (p Plugin) check() error {
	if len(p.Problems) > 0 {
		return &SourceError{why: fmt.Sprintf("%s: its manifest has %d problems: %s", p.ID(), len(p.Problems), dialect.FirstProblem(p.Problems)),
			fix: "tell its author, or mend a copy and install that"}
	}
	if name, ok := names[p.Dialect]; !ok || !name.MatchString(p.Name) {
		return &SourceError{why: fmt.Sprintf("%.80q is no name for a plugin of %s", p.Name, p.Dialect), fix: "rename it in a copy, and install that"}
	}
	return nil
}
