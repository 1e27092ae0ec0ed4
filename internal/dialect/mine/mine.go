package mine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// Name is the dialect's name.
const Name = "mine"

// A Dialect is the mine protocol.
type Dialect struct {
	// lifecycle bounds a lifecycle event. Tests set a shorter time.
	lifecycle time.Duration
}

// New returns the dialect.
func New() *Dialect { return &Dialect{lifecycle: lifecycleTimeout} }

// Name is "mine".
func (*Dialect) Name() string { return Name }

// Folders returns the one directory.
func (*Dialect) Folders(env dialect.Env) []dialect.Folder {
	return []dialect.Folder{{Dialect: Name, Dir: pluginsDir(env), Form: "NAME/" + manifestFile}}
}

// Points returns the points of the four stages.
func (*Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the plugins in $XDG_DATA_HOME/mine/plugins, one folder each, in the order in which
// their hooks run: docs/protocols/mine.md, row M37. The rule sorts the text PLUGIN:PATTERN:STAGE.
// So the names are compared with their colon, which sorts after digits and hyphens.
func (*Dialect) Find(env dialect.Env) []dialect.Found {
	var all []dialect.Found
	for _, dir := range dialect.DirsIn(pluginsDir(env)) {
		all = append(all, describe(dir, env))
	}
	slices.SortStableFunc(all, func(a, b dialect.Found) int { return strings.Compare(a.Name+":", b.Name+":") })
	dialect.RefuseTwins(all)
	return all
}

// At returns the plugin of a folder, or of a manifest file.
func (*Dialect) At(path string, env dialect.Env) (dialect.Found, bool) {
	if filepath.Base(path) == manifestFile {
		path = filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(path, manifestFile)); err != nil {
		return dialect.Found{}, false
	}
	return describe(path, env), true
}

// Open makes a plugin ready for calls. It leaves no process running except those of standby.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	m, ok := f.Manifest.(*manifest)
	if !ok || f.State != "" {
		return nil, fmt.Errorf("it is %s: %w", f.State, f.Err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rt.NoConfig(Name, m.name, s)
	p := newPlugin(d, f.Path, m, s, rt)
	p.greet()
	return p, nil
}

// Examine reports why the directory of plugins cannot be read.
func (*Dialect) Examine(env dialect.Env) []dialect.Problem {
	return dialect.ExamineFolder(pluginsDir(env))
}

// pluginsDir returns the directory of plugins, or "" if there is no home directory.
func pluginsDir(env dialect.Env) string {
	return env.InDataHome(Name, "plugins")
}

// describe reads a plugin's manifest and checks whether its program can be started.
func describe(dir string, env dialect.Env) dialect.Found {
	f := dialect.Found{Dialect: Name, Name: filepath.Base(dir), Place: filepath.Base(dir), Path: dir}
	file := filepath.Join(dir, manifestFile)
	f.File = file
	data, err := dialect.ReadManifest(file, mostManifest)
	switch {
	case dialect.LeadsNowhere(dir):
		err = dialect.WithFix(err, dialect.DeadLink)
	case errors.Is(err, fs.ErrNotExist):
		err = dialect.WithFix(err, dialect.MissingManifest(dir, manifestFile))
	}
	if err != nil {
		f.State, f.Err = dialect.Broken, err
		return f
	}
	m, problems, warnings := parseManifest(file, data)
	f.Problems, f.Warnings = problems, warnings
	if m == nil { // the file cannot be parsed
		f.State, f.Err = dialect.Broken, dialect.FirstProblem(problems)
		return f
	}
	f.Manifest, f.Info, f.Misspelt = m, m.info(), m.misspelt
	f.Info.Needs = m.permissions.needs(env)
	f.Info.Optional = optional(env)
	if m.name == "" {
		f.Info.Name = f.Name
	} else if m.name != f.Name {
		f.Warnings = append(f.Warnings, dialect.Problem{Path: file,
			Message: fmt.Sprintf("the plugin is called %q, its folder %q", cut(m.name), f.Name), Fix: "give both the same name"})
		f.Name = m.name
	}
	if err := outdated(problems); err != nil {
		f.State, f.Err = dialect.Broken, err
	} else if len(problems) > 0 {
		f.State, f.Err = dialect.Broken, dialect.FirstProblem(problems)
	} else if err := startable(filepath.Join(dir, m.entrypoint), env); err != nil {
		f.State, f.Err = dialect.Broken, err
	}
	return f
}

// startable returns why a program cannot be started, or nil. It does not start the program.
func startable(path string, env dialect.Env) error {
	if !dialect.Executable(path) {
		return explain(program.Diagnose(path, env.Vars, nil))
	}
	if start := program.Uninterpreted(path, env.Vars); start != nil {
		return start
	}
	return nil
}

// explain returns the error for a program that does not start: docs/protocols/mine.md, row M30.
func explain(start *program.StartError) error {
	switch info, err := os.Stat(start.Path); {
	case errors.Is(err, fs.ErrNotExist):
		missing := *start
		if other := otherProgram(start.Path); other != "" {
			missing.Fix = fmt.Sprintf("write entrypoint = %q in %s, or rename that program, or reinstall the plugin", other, manifestFile)
		}
		return &unstartable{&missing, "its program is missing: " + start.Path + "; " + missing.Fix}
	case err == nil && info.Mode().IsRegular() && !dialect.Executable(start.Path):
		return &unstartable{start, "permission denied: its program " + start.Why + "; " + start.Fix}
	}
	return start
}

// otherProgram returns the name of the only executable file in the plugin's folder. It returns ""
// if there is no executable file or more than one, or if path is not directly in that folder.
func otherProgram(path string) string {
	dir := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err != nil {
		return ""
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var found []string
	for _, f := range files {
		if f.Type().IsRegular() && f.Name() != manifestFile && dialect.Executable(filepath.Join(dir, f.Name())) {
			found = append(found, f.Name())
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// unstartable is the error of a program that is missing or not executable.
type unstartable struct {
	start *program.StartError
	text  string
}

func (e *unstartable) Error() string { return e.text }

// Unwrap returns the error with path, reason and fix apart.
func (e *unstartable) Unwrap() error { return e.start }
