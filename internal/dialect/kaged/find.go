package kaged

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// manifestNames are the names that a manifest may have, the preferred one first:
// docs/protocols/kaged.md, row K34.
var manifestNames = []string{"manifest.yaml", "kaged-plugin.yaml"}

// maxManifest limits the manifest file. The protocol has no limit; the longest manifests are those
// with schemas, and have kilobytes.
const maxManifest = document.MaxSize

// pluginsDir returns the directory of plugins, or "" if there is no home directory.
func pluginsDir(env dialect.Env) string {
	return env.InDataHome(Name, "plugins")
}

// Folders returns the one directory of plugins.
func (d *Dialect) Folders(env dialect.Env) []dialect.Folder {
	return []dialect.Folder{{Dialect: Name, Dir: pluginsDir(env), Form: "NAME/" + manifestNames[0]}}
}

// Points returns the points of the four hooks.
func (d *Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the plugins in $XDG_DATA_HOME/kaged/plugins, one directory each, in the order of their
// names.
func (d *Dialect) Find(env dialect.Env) []dialect.Found {
	var all []dialect.Found
	for _, dir := range dialect.DirsIn(pluginsDir(env)) {
		all = append(all, describeIn(dir))
	}
	slices.SortStableFunc(all, func(a, b dialect.Found) int { return strings.Compare(a.Name, b.Name) })
	dialect.RefuseTwins(all)
	return all
}

// Examine reports why the directory of plugins cannot be read.
func (d *Dialect) Examine(env dialect.Env) []dialect.Problem {
	return dialect.ExamineFolder(pluginsDir(env))
}

// describeIn describes the plugin in one folder of the directory of plugins. The folder may be a
// link to nothing.
func describeIn(dir string) dialect.Found {
	if _, err := os.Stat(dir); err != nil {
		f := newFound(dir)
		err = fmt.Errorf("%s: %w", dir, dialect.Cause(err))
		if dialect.LeadsNowhere(dir) {
			err = dialect.WithFix(err, dialect.DeadLink)
		}
		f.broken(err)
		return f.Found
	}
	return describe(dir, "")
}

// At returns the plugin of a directory, or of a manifest file.
func (d *Dialect) At(path string, _ dialect.Env) (dialect.Found, bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return dialect.Found{}, false
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return dialect.Found{}, false
	case info.IsDir():
		return describe(path, ""), len(manifestsIn(path)) > 0
	}
	dir, file := filepath.Split(path)
	return describe(filepath.Clean(dir), file), slices.Contains(manifestNames, file)
}

// describe reads a plugin's manifest. file is its name; with "" describe searches for it.
func describe(dir, file string) dialect.Found {
	f := newFound(dir)
	if file == "" {
		there := manifestsIn(dir)
		if len(there) == 0 {
			f.broken(dialect.WithFix(fmt.Errorf("no %s in %s", strings.Join(manifestNames, " or "), dir), dialect.MissingManifest(dir, manifestNames[0])))
			return f.Found
		}
		file = there[0]
		if len(there) > 1 {
			f.warn(dir, fmt.Sprintf("%s is read, %s beside it is not", there[0], there[1]))
		}
	}
	f.readManifest(filepath.Join(dir, file))
	return f.Found
}

// manifestsIn lists the names of the manifests in a directory. The first one is used.
func manifestsIn(dir string) []string {
	return slices.DeleteFunc(slices.Clone(manifestNames), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// found is a dialect.Found that describe fills in.
type found struct{ dialect.Found }

func newFound(dir string) *found {
	return &found{dialect.Found{Dialect: Name, Name: filepath.Base(dir), Place: filepath.Base(dir), Path: dir}}
}

func (f *found) broken(err error) { f.State, f.Err = dialect.Broken, err }

func (f *found) warn(path, message string) {
	f.Warnings = append(f.Warnings, dialect.Problem{Path: path, Message: message})
}

// readManifest fills in what the manifest declares, and all its problems.
func (f *found) readManifest(file string) {
	f.File = file
	data, err := dialect.ReadManifest(file, maxManifest)
	if err != nil {
		f.broken(err)
		return
	}
	m, problems := ParseManifest(file, data)
	f.Problems = dialect.Problems(problems)
	f.Manifest, f.Info, f.Partly = m, infoOf(m), slices.ContainsFunc(problems, hidesPart)
	if m.Compactor() {
		f.Sole = "compactor" // docs/protocols/kaged.md, row K47
	}
	f.Warnings = append(f.Warnings, dialect.Problems(m.Warnings)...)
	f.Misspelt = dialect.Problems(slices.DeleteFunc(slices.Clone(m.Warnings), func(p document.Problem) bool {
		return !p.Misspelt || nearest.Word(p.Key, declaring) == ""
	}))
	f.nameOf(m, file)
	if len(f.Problems) > 0 {
		f.broken(dialect.FirstProblem(f.Problems))
	}
}

// declaring are the keys of a manifest that list what the host can call.
var declaring = []string{"hooks", "tools", "methods"}

// hidesPart reports whether a manifest may declare more hooks, tools or methods than could be read.
// A problem of the whole file has no key.
func hidesPart(p document.Problem) bool {
	part := p.Key
	if i := strings.IndexAny(part, ".["); i >= 0 {
		part = part[:i]
	}
	return part == "" || slices.Contains(declaring, part)
}

// nameOf sets the plugin's name to that of the manifest. If the manifest has none, the plugin keeps
// the name of its directory.
func (f *found) nameOf(m *Manifest, file string) {
	if m.Name == "" {
		f.Info.Name = f.Name
		return
	}
	if dir := filepath.Base(f.Path); dir != m.Name {
		f.Warnings = append(f.Warnings, dialect.Problem{Path: file,
			Message: fmt.Sprintf("the plugin is called %q, its directory %q", m.Name, dir), Fix: "give both the same name"})
	}
	f.Name = m.Name
}

// infoOf returns what the manifest declares.
func infoOf(m *Manifest) *dialect.Info {
	info := &dialect.Info{Name: m.Name, Version: m.Version, Description: m.Description,
		Author: m.Author, License: m.License, Homepage: m.Homepage, Knobs: slices.Clone(m.Knobs), Schema: m.ConfigSchema.JSON(),
		Hooks: slices.Clone(m.Hooks), Methods: slices.Clone(m.Methods),
		Capabilities: capabilityNames(m.Capabilities), Needs: append([]capability.Capability{}, m.Capabilities...), Priority: hook.DefaultPriority}
	for _, t := range m.Tools {
		info.Tools = append(info.Tools, dialect.Tool{Name: toolName(m, t), Plugin: m.Name, Dialect: Name,
			Description: t.Description, Parameters: t.JSON})
	}
	return info
}

// capabilityNames formats capabilities as a manifest has them.
func capabilityNames(list []capability.Capability) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.String())
	}
	return names
}
