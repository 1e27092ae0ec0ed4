package kaged

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
)

// manifestNames are the names a manifest may have, the preferred one first.
var manifestNames = []string{"manifest.yaml", "kaged-plugin.yaml"}

// maxManifest bounds the manifest file. The seed names no limit; schemas make
// the longest manifests, and they have kilobytes.
const maxManifest = 1 << 20

// pluginsDir is where kaged's plugins live; "" where there is no home.
func pluginsDir(env dialect.Env) string {
	data := env.DataHome()
	if data == "" {
		return ""
	}
	return filepath.Join(data, Name, "plugins")
}

// Places is the one directory of plugins.
func (d *Dialect) Places(env dialect.Env) []dialect.Place {
	return []dialect.Place{{Dialect: Name, Dir: pluginsDir(env), Form: "NAME/" + manifestNames[0]}}
}

// Points are those of the four hooks.
func (d *Dialect) Points() []hook.Point {
	var points []hook.Point
	for i := range natively {
		points = append(points, natively[i].point)
	}
	return points
}

// Find lists the plugins in $XDG_DATA_HOME/kaged/plugins, one directory each,
// in the order of their names.
func (d *Dialect) Find(env dialect.Env) []dialect.Found {
	root := pluginsDir(env)
	entries, err := os.ReadDir(root)
	if root == "" || err != nil {
		return nil // Examine says why
	}
	var all []dialect.Found
	for _, e := range entries {
		if f, ok := lookIn(root, e); ok {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b dialect.Found) int { return strings.Compare(a.Name, b.Name) })
	oneOfAName(all)
	oneCompactor(all)
	return all
}

// Examine reports what keeps the place of the plugins itself from being read.
func (d *Dialect) Examine(env dialect.Env) []dialect.Problem {
	root := pluginsDir(env)
	if root == "" {
		return nil
	}
	if _, err := os.ReadDir(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []dialect.Problem{{Path: root, Message: "its plugins cannot be listed: " + cause(err)}}
	}
	return nil
}

// lookIn looks at one entry of the plugins directory. Files and hidden
// directories are no plugins; a link to a directory is as good as one.
func lookIn(root string, e fs.DirEntry) (dialect.Found, bool) {
	if strings.HasPrefix(e.Name(), ".") {
		return dialect.Found{}, false
	}
	dir := filepath.Join(root, e.Name())
	info, err := os.Stat(dir)
	if err != nil {
		f := newFound(dir)
		f.broken(fmt.Errorf("%s: %s", dir, cause(err)))
		return f.Found, true
	}
	if !info.IsDir() {
		return dialect.Found{}, false
	}
	return look(dir, ""), true
}

// At looks at a plugin's directory, or at its manifest.
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
		return look(path, ""), len(manifestsIn(path)) > 0
	}
	dir, file := filepath.Split(path)
	return look(filepath.Clean(dir), file), slices.Contains(manifestNames, file)
}

// look reads a plugin's manifest; file is its name, "" to search for it.
func look(dir, file string) dialect.Found {
	f := newFound(dir)
	if file == "" {
		there := manifestsIn(dir)
		if len(there) == 0 {
			f.broken(fmt.Errorf("no %s in %s", strings.Join(manifestNames, " or "), dir))
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

// manifestsIn lists the manifests of a directory by name, the one that counts first.
func manifestsIn(dir string) []string {
	return slices.DeleteFunc(slices.Clone(manifestNames), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// found is a plugin on disk while it is being looked at.
type found struct{ dialect.Found }

func newFound(dir string) *found {
	return &found{dialect.Found{Dialect: Name, Name: filepath.Base(dir), Path: dir}}
}

func (f *found) broken(err error) { f.State, f.Err = dialect.Broken, err }

func (f *found) warn(path, message string) {
	f.Warnings = append(f.Warnings, dialect.Problem{Path: path, Message: message})
}

// readManifest fills in what the manifest says, and everything that is wrong with it.
func (f *found) readManifest(file string) {
	data, err := readBounded(file)
	if err != nil {
		f.broken(err)
		return
	}
	m, problems := ParseManifest(data)
	f.Problems = inFile(file, problems)
	f.Manifest, f.Info = m, infoOf(m)
	f.Warnings = append(f.Warnings, inFile(file, m.Warnings)...)
	f.nameOf(m, file)
	if len(f.Problems) > 0 {
		f.broken(firstOf(f.Problems))
	}
}

// nameOf: the manifest's name counts; the directory's stands in where that is missing.
func (f *found) nameOf(m *Manifest, file string) {
	if m.Name == "" {
		return
	}
	if dir := filepath.Base(f.Path); dir != m.Name {
		f.warn(file, fmt.Sprintf("the plugin is called %q, its directory %q", m.Name, dir))
	}
	f.Name = m.Name
}

func readBounded(file string) ([]byte, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, cause(err))
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, cause(err))
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("%s: over %d bytes: not a manifest", file, maxManifest)
	}
	return data, nil
}

func inFile(file string, problems []Problem) []dialect.Problem {
	var out []dialect.Problem
	for _, p := range problems {
		message := p.Message
		if p.Field != "" {
			message = p.Field + ": " + message
		}
		out = append(out, dialect.Problem{Path: file, Line: p.Line, Column: p.Column, Message: message})
	}
	return out
}

// firstOf is the error of a manifest with problems: the first, and how many more.
func firstOf(problems []dialect.Problem) error {
	p := problems[0]
	where := p.Path
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	switch more := len(problems) - 1; more {
	case 0:
		return fmt.Errorf("%s: %s", where, p.Message)
	case 1:
		return fmt.Errorf("%s: %s (and 1 more problem)", where, p.Message)
	default:
		return fmt.Errorf("%s: %s (and %d more problems)", where, p.Message, more)
	}
}

// infoOf is what the manifest declares.
func infoOf(m *Manifest) *dialect.Info {
	info := &dialect.Info{Name: m.Name, Version: m.Version, Description: m.Description,
		Hooks: slices.Clone(m.Hooks), Methods: slices.Clone(m.Methods),
		Capabilities: capabilityNames(m), Priority: hook.DefaultPriority}
	for _, t := range m.Tools {
		info.Tools = append(info.Tools, dialect.Tool{Name: toolName(m, t), Plugin: m.Name, Dialect: Name,
			Description: t.Description, Parameters: t.JSON})
	}
	return info
}

// capabilityNames is the manifest's capabilities as it would write them.
func capabilityNames(m *Manifest) []string {
	var names []string
	for _, c := range m.Capabilities {
		names = append(names, c.String())
	}
	return names
}

// oneOfAName: storage and tools go by the plugin's name, so a second plugin of
// one name is left out.
func oneOfAName(all []dialect.Found) {
	first := make(map[string]string)
	for i := range all {
		f := &all[i]
		if f.State != "" {
			continue
		}
		if path, taken := first[f.Name]; taken {
			f.State, f.Err = dialect.Skipped, fmt.Errorf("another plugin is called %s: %s", f.Name, path)
			continue
		}
		first[f.Name] = f.Path
	}
}

// oneCompactor: seed 002, "At most one compactor per agent".
func oneCompactor(all []dialect.Found) {
	first := ""
	for i := range all {
		f := &all[i]
		m, ok := f.Manifest.(*Manifest)
		if !ok || f.State != "" || !m.Compactor() {
			continue
		}
		if first != "" {
			f.State, f.Err = dialect.Broken, fmt.Errorf("at most one compactor per agent, and %s is it already", first)
			continue
		}
		first = f.Name
	}
}

// cause is an error of the file system without the path it repeats.
func cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
