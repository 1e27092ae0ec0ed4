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
	// How long a plugin may take over a lifecycle event. Tests of plugins that never answer have no
	// time for the real value.
	lifecycle time.Duration
}

// New returns the dialect.
func New() *Dialect { return &Dialect{lifecycle: lifecycleTimeout} }

// Name is "mine".
func (*Dialect) Name() string { return Name }

// Places is the one folder.
func (*Dialect) Places(env dialect.Env) []dialect.Place {
	return []dialect.Place{{Dialect: Name, Dir: pluginsDir(env), Form: "NAME/" + manifestFile}}
}

// Points are those of the four stages.
func (*Dialect) Points() []hook.Point {
	return dialect.Points(native, (*translation).spot)
}

// Find lists the plugins in $XDG_DATA_HOME/mine/plugins, one folder each. They are in the order in
// which their hooks run: "in the order of <plugin>:<command pattern>:<stage>", where a colon sorts
// after digits and hyphens.
func (*Dialect) Find(env dialect.Env) []dialect.Found {
	var all []dialect.Found
	for _, dir := range dialect.FoldersIn(pluginsDir(env)) {
		all = append(all, look(dir, env))
	}
	slices.SortStableFunc(all, func(a, b dialect.Found) int { return strings.Compare(a.Name+":", b.Name+":") })
	dialect.RefuseTwins(all)
	return all
}

// At looks at a plugin's folder, or at its manifest.
func (*Dialect) At(path string, env dialect.Env) (dialect.Found, bool) {
	if filepath.Base(path) == manifestFile {
		path = filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(path, manifestFile)); err != nil {
		return dialect.Found{}, false
	}
	return look(path, env), true
}

// Open makes a plugin ready for calls. No process is left running, unless some are to be kept
// ready.
func (d *Dialect) Open(ctx context.Context, f dialect.Found, s dialect.Settings, rt *dialect.Runtime) (dialect.Plugin, error) {
	m, ok := f.Manifest.(*manifest)
	if !ok || f.State != "" {
		return nil, fmt.Errorf("it is %s: %w", f.State, f.Err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := newPlugin(d, f.Path, m, s, rt)
	p.greet()
	return p, nil
}

// Examine reports what keeps the place of the plugins itself from being read.
func (*Dialect) Examine(env dialect.Env) []dialect.Problem {
	return dialect.ExaminePlace(pluginsDir(env))
}

// pluginsDir is where mine's plugins live; "" where there is no home.
func pluginsDir(env dialect.Env) string {
	return env.InDataHome(Name, "plugins")
}

// look reads a plugin's manifest and sees whether its program could be started.
func look(dir string, env dialect.Env) dialect.Found {
	f := dialect.Found{Dialect: Name, Name: filepath.Base(dir), Place: filepath.Base(dir), Path: dir}
	file := filepath.Join(dir, manifestFile)
	f.File = file
	data, err := dialect.ReadManifest(file, mostManifest)
	if errors.Is(err, fs.ErrNotExist) {
		err = dialect.WithFix(err, dialect.MissingManifest(manifestFile))
	}
	if err != nil {
		f.State, f.Err = dialect.Broken, err
		return f
	}
	m, problems, warnings := parseManifest(file, data)
	f.Problems, f.Warnings = problems, warnings
	if m == nil { // nothing of it can be read
		f.State, f.Err = dialect.Broken, dialect.FirstProblem(problems)
		return f
	}
	f.Manifest, f.Info = m, m.info()
	f.Info.Needs = m.permissions.needs(env)
	if m.name == "" {
		f.Info.Name = f.Name
	} else if m.name != f.Name {
		f.Warnings = append(f.Warnings, dialect.Problem{Path: file,
			Message: fmt.Sprintf("the plugin is called %q, its folder %q", cut(m.name), f.Name)})
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

// startable looks at a plugin's program without starting it.
func startable(path string, env dialect.Env) error {
	if !dialect.Executable(path) {
		return explain(program.Diagnose(path, env.Vars, nil))
	}
	if start := program.Uninterpreted(path, env.Vars); start != nil {
		return start
	}
	return nil
}

// explain puts a program that does not start into seed 001's words: "Plugin not executable: mine
// reports a permission error with fix instructions", "Plugin binary missing: mine reports the
// plugin as broken, suggests reinstall".
func explain(start *program.StartError) error {
	switch info, err := os.Stat(start.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return &unstartable{start, "its program is missing: " + start.Path + "; reinstall the plugin"}
	case err == nil && info.Mode().IsRegular() && !dialect.Executable(start.Path):
		return &unstartable{start, "permission denied: its program " + start.Why + "; " + start.Fix}
	}
	return start
}

// unstartable is the error of a program that cannot be started, in the seed's words.
type unstartable struct {
	start *program.StartError
	text  string
}

func (e *unstartable) Error() string { return e.text }

// Unwrap has the path, the reason and the fix apart.
func (e *unstartable) Unwrap() error { return e.start }
