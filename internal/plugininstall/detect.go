package plugininstall

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/plugindir"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// The dialects, each of which has its own form of plugins.
const (
	dotagent = "dotagent"
	mine     = "mine"
	kaged    = "kaged"
	scaffold = "scaffold"
	python   = "python"
)

// A Plugin is a plugin that was found in a source.
type Plugin struct {
	Dialect      string            `json:"dialect"`
	Name         string            `json:"name"` // the name of its place, once it is installed
	Path         string            `json:"path"` // in the source; ".": the source itself
	Capabilities []string          `json:"capabilities"`
	Problems     []dialect.Problem `json:"problems"` // what is wrong with its manifest
	Warning      string            `json:"warning"`  // why it would not start; "": nothing is known

	found dialect.Found
}

// ID returns DIALECT:NAME.
func (p Plugin) ID() string { return p.Dialect + ":" + p.Name }

// detect lists the plugins in the tree.
func (f *Fetched) detect() []Plugin {
	var out []Plugin
	o := plugindir.Options{Environ: f.o.Environ, Dialects: f.o.Dialects, Called: f.Source.Path, Sole: f.Source.Kind == SingleFile}
	for _, found := range plugindir.All(f.tree, o) {
		out = append(out, f.plugin(found))
	}
	return out
}

func (f *Fetched) plugin(found dialect.Found) Plugin {
	rel, err := filepath.Rel(f.tree, found.Path)
	if err != nil {
		rel = found.Path
	}
	p := Plugin{Dialect: found.Dialect, Name: found.Name, Path: filepath.ToSlash(rel), Capabilities: pluginhost.CapabilitiesOf(found.Info), Problems: found.Problems, found: found}
	for i := range p.Problems { // as a path that the operator can find
		p.Problems[i].Path = strings.TrimPrefix(p.Problems[i].Path, f.tree+string(filepath.Separator))
	}
	if found.Err != nil && len(found.Problems) == 0 {
		p.Warning = strings.ReplaceAll(found.Err.Error(), f.tree+string(filepath.Separator), "")
	}
	return p
}

// names holds the patterns for the names of a plugin's place, by dialect. All are names of files in
// a directory.
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
		return &SourceError{why: fmt.Sprintf("%s: its manifest is not valid: %s", p.ID(), dialect.FirstProblem(p.Problems)),
			fix: "tell its author, or correct a copy and install that"}
	}
	if name, ok := names[p.Dialect]; !ok || !name.MatchString(p.Name) {
		return &SourceError{why: fmt.Sprintf("%.80q is not a valid name for a plugin of %s", p.Name, p.Dialect), fix: "rename it in a copy, and install that"}
	}
	return nil
}
