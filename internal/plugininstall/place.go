package plugininstall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// Placed is an installed plugin.
type Placed struct {
	Name         string   `json:"name"`
	Dialect      string   `json:"dialect"`
	Path         string   `json:"path"`  // where its dialect finds it
	Files        string   `json:"files"` // where its files are, if that is another place; else ""
	Source       string   `json:"source"`
	Ref          string   `json:"ref"`
	Commit       string   `json:"commit"`
	Capabilities []string `json:"capabilities"` // granted
	Withheld     []string `json:"withheld"`     // declared, and not granted before
	Replaced     bool     `json:"replaced"`     // a plugin of that name was replaced
	Unchanged    bool     `json:"unchanged"`    // the installed plugin was the same
	DryRun       bool     `json:"dry_run"`
	Readme       string   `json:"readme"` // the path of its README, or ""
	Hints        []string `json:"hints"`  // commands that may be needed
	Notes        []string `json:"notes"`

	Was     string             `json:"was"`     // the commit of the replaced plugin
	Changes []trust.FileChange `json:"changes"` // compared with the recorded state of the replaced plugin

	stages []string
}

// Clean removes the replaced files. It is called when no process uses them any more.
func (p *Placed) Clean() error {
	var errs []error
	for _, dir := range p.stages {
		if err := scratch.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	p.stages = nil
	return errors.Join(errs...)
}

// PlaceOptions say how a plugin is installed.
type PlaceOptions struct {
	DryRun bool
	Force  bool // also replace a plugin that was put there by hand, came from elsewhere, or was changed
	Update bool // it gets only capabilities that it was granted before
}

// A TakenError is returned for a plugin that is not installed because of another one, and for a
// path that [Remove] does not touch because it is in no place for plugins.
type TakenError struct{ why, fix string }

func (e *TakenError) Error() string { return e.why }

// Fix returns what to do.
func (e *TakenError) Fix() string { return e.fix }

// An installation is one plugin during its installation.
type installation struct {
	*Fetched
	plugin Plugin
	o      PlaceOptions
	target string // where its dialect finds it
	files  string // where its files are, if its dialect has a place for only one file; else ""
	before *trust.Entry
	placed *Placed

	staged  string // where the new target is staged
	stagedF string // where the new files are staged
	sums    []trust.File
}

// Place installs a plugin: it stages the files beside their target and puts them in place in one
// step, while it holds the lock. The replaced files stay until [Placed.Clean].
func (f *Fetched) Place(ctx context.Context, p Plugin, o PlaceOptions) (placed *Placed, err error) {
	i := &installation{Fetched: f, plugin: p, o: o}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := i.choose(); err != nil {
		return nil, err
	}
	if err := i.checkNotTaken(); err != nil {
		return nil, err
	}
	i.placed = &Placed{Name: p.Name, Dialect: p.Dialect, Path: i.target, Files: i.files, Source: f.Source.Text, Ref: f.Source.Ref, Commit: f.Commit,
		DryRun: o.DryRun, Replaced: exists(i.target), Notes: append([]string{}, f.Notes...), Hints: []string{}, Changes: []trust.FileChange{}}
	if p.Warning != "" {
		i.placed.Notes = append(i.placed.Notes, "it will not start as it is: "+p.Warning)
	}
	if i.before != nil && i.placed.Replaced {
		i.placed.Was = i.before.Origin.Commit
	}
	i.grant()
	defer func() {
		if err != nil || o.DryRun || i.placed.Unchanged {
			err = errors.Join(err, i.placed.Clean())
		}
	}()
	f.o.tell("checking %s", p.ID())
	if err := i.stage(ctx); err != nil {
		return nil, err
	}
	i.placed.Hints = append(i.placed.Hints, i.hints()...)
	if i.before != nil && i.placed.Replaced {
		changes, err := f.o.book().Explain(i.before, i.roots(i.staged, i.stagedF), i.sums)
		if err != nil {
			return nil, err
		}
		i.placed.Changes = changes
	}
	if i.placed.Unchanged = i.same(); i.placed.Unchanged || o.DryRun {
		return i.placed, nil
	}
	f.o.tell("putting it in place: %s", i.target)
	return i.placed, i.put()
}

// choose determines the place of the plugin.
func (i *installation) choose() error {
	dir := placeOf(i.Fetched.o.Environ, i.plugin.Dialect)
	if dir == "" {
		return fmt.Errorf("there is no directory for plugins of %s: neither HOME nor another variable names one", i.plugin.Dialect)
	}
	switch i.plugin.Dialect {
	case kaged, mine:
		i.target = filepath.Join(dir, i.plugin.Name)
	default:
		i.target = filepath.Join(dir, filepath.Base(i.plugin.Path))
		if i.plugin.Dialect != python && i.accompanied() {
			if runtime.GOOS == "windows" {
				return errors.New("a plugin of several files cannot be installed for " + i.plugin.Dialect + " on Windows")
			}
			i.target = filepath.Join(dir, strings.TrimSuffix(filepath.Base(i.plugin.Path), filepath.Ext(i.plugin.Path)))
			if i.plugin.Dialect == dotagent {
				i.target = filepath.Join(dir, filepath.Base(i.plugin.Path))
			}
			i.files = pluginhost.InstalledFiles(i.Fetched.o.Dirs, i.plugin.Dialect, i.plugin.Name)
		}
	}
	if old := installedAt(i.Fetched.o.Environ, i.plugin); old != "" && i.plugin.Dialect == scaffold {
		i.target = old // for scaffold, shout.sh and shout are one plugin
	}
	return nil
}

// placeOf returns the first directory of a dialect.
func placeOf(environ []string, dialectName string) string {
	for _, p := range pluginhost.PluginFolders(environ) {
		if p.Dialect == dialectName {
			return p.Dir
		}
	}
	return ""
}

// installedAt returns the path of the installed plugin with the dialect and the name of p; "":
// there is none.
func installedAt(environ []string, p Plugin) string {
	for _, f := range pluginhost.Installed(environ) {
		if f.Dialect == p.Dialect && f.Place == p.Name {
			return f.Path
		}
	}
	return ""
}

// documents lists files that a plugin does not need.
var documents = []string{"readme", "license", "licence", "copying", "changelog", "notice", "authors", "contributing"}

// accompanied reports whether there are files beside a plugin's program that it may need.
func (i *installation) accompanied() bool {
	entries, err := os.ReadDir(filepath.Join(i.tree, filepath.Dir(i.plugin.Path)))
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := strings.ToLower(e.Name())
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		other := slices.ContainsFunc(i.Plugins, func(p Plugin) bool { return filepath.Base(p.Path) == e.Name() })
		return !other && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".md") && !slices.Contains(documents, stem)
	})
}

// checkNotTaken refuses to take the place of another plugin.
func (i *installation) checkNotTaken() error {
	for _, f := range pluginhost.Installed(i.Fetched.o.Environ) {
		if f.Dialect != i.plugin.Dialect || f.Path == i.target {
			continue
		}
		if f.Place == i.plugin.Name || f.Name == i.plugin.Name {
			return &TakenError{fmt.Sprintf("%s is the name of the plugin in %s, too: one of the two would hide the other", i.plugin.Name, f.Path),
				"remove or rename that one first"}
		}
		if f.Place != i.plugin.Name && i.plugin.found.Info != nil && i.plugin.found.Info.Name == f.Place {
			return &TakenError{fmt.Sprintf("it calls itself %s, which is the name of the plugin in %s", f.Place, f.Path), "remove or rename that one first"}
		}
	}
	lock, err := trust.Load(i.Fetched.o.Dirs.LockFile)
	if err != nil {
		return err
	}
	i.before = lock.Find(i.plugin.Dialect, i.plugin.Name)
	if !exists(i.target) || i.o.Force {
		return nil
	}
	return i.mayReplace()
}

// mayReplace returns an error if the present plugin is not an older state of the same plugin.
func (i *installation) mayReplace() error {
	const fix = "to replace it anyway: --force"
	if i.before == nil || i.before.Origin.Source == "" {
		return &TakenError{i.target + " exists already, and was not installed by Patchbay", fix}
	}
	if from := i.before.Origin.Source; from != i.Source.Text && (remote(from) || remote(i.Source.Text)) {
		return &TakenError{fmt.Sprintf("a plugin of that name exists already, from %s", from), fix}
	}
	now, err := trust.Take(i.roots(i.target, i.files))
	if err != nil {
		return &TakenError{fmt.Sprintf("%s cannot be compared with the lock: %v", i.target, err), fix}
	}
	if changes := trust.Compare(i.before.Files, now); len(changes) > 0 {
		return &TakenError{fmt.Sprintf("%s was changed since it was installed, and these changes would be lost: %s", i.target, trust.Summary(changes)), fix}
	}
	return nil
}

// remote reports whether a source is not a path.
func remote(source string) bool { return !filepath.IsAbs(source) }

// roots returns the files of the plugin, in their place or staged. The names of its files are the
// same in both.
func (i *installation) roots(target, files string) []trust.Root {
	roots := []trust.Root{{Path: target}}
	if info, err := os.Lstat(files); files != "" && err == nil && info.IsDir() {
		roots = append(roots, trust.Root{Label: "installed:", Path: files})
	}
	return roots
}

// grant decides on the plugin's capabilities: a plugin that updates or replaces another gets only
// those that were granted to the other.
func (i *installation) grant() {
	i.placed.Capabilities, i.placed.Withheld = i.plugin.Capabilities, []string{}
	if i.before == nil || i.plugin.Capabilities == nil || !i.o.Update && !i.placed.Replaced {
		return
	}
	withheld := trust.Withheld(i.plugin.Capabilities, i.before.Capabilities)
	i.placed.Withheld = append(i.placed.Withheld, withheld...)
	i.placed.Capabilities = slices.DeleteFunc(append([]string{}, i.plugin.Capabilities...), func(c string) bool { return slices.Contains(withheld, c) })
}

// stage copies the files beside their target.
func (i *installation) stage(ctx context.Context) (err error) {
	dir, err := i.stageIn(filepath.Dir(i.target))
	if err != nil {
		return err
	}
	i.staged = filepath.Join(dir, filepath.Base(i.target))
	from := filepath.Join(i.tree, filepath.FromSlash(i.plugin.Path))
	switch {
	case i.files != "":
		dir, err := i.stageIn(filepath.Dir(i.files))
		if err != nil {
			return err
		}
		i.stagedF = filepath.Join(dir, filepath.Base(i.files))
		if err := copyInto(ctx, i.stagedF, filepath.Dir(from)); err != nil {
			return err
		}
		if err := executable(filepath.Join(i.stagedF, filepath.Base(from))); err != nil {
			return err
		}
		err = os.WriteFile(i.staged, pluginhost.Wrapper(filepath.Join(i.files, filepath.Base(from))), 0o755)
		if err != nil {
			return err
		}
	case i.plugin.Dialect == kaged || i.plugin.Dialect == mine:
		if err := copyInto(ctx, i.staged, from); err != nil {
			return err
		}
	default:
		if err := copyOne(i.staged, from, i.plugin.Dialect != python); err != nil {
			return err
		}
	}
	i.sums, err = trust.Take(i.roots(i.staged, i.stagedF))
	return err
}

// stageIn makes a staging directory.
func (i *installation) stageIn(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	stage, err := scratch.MakeIn(dir, "install")
	if err == nil {
		i.placed.stages = append(i.placed.stages, stage)
	}
	return stage, err
}

func copyInto(ctx context.Context, to, from string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	s, err := newSink(to)
	if err != nil {
		return err
	}
	return errors.Join(copyTree(ctx, s, from), s.close())
}

// copyOne copies a plugin that is one file. It makes a program executable, whatever its mode in an
// archive.
func copyOne(to, from string, program bool) error {
	s, err := newSink(filepath.Dir(to))
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if program {
		mode = 0o755
	}
	return errors.Join(s.copyFile(filepath.Base(to), from, mode), s.close())
}

func executable(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return os.Chmod(path, 0o755)
}

// hints returns the hints for the directory in which the plugin will be.
func (i *installation) hints() []string {
	dir, staged := i.target, i.staged
	if i.files != "" {
		dir, staged = i.files, i.stagedF
	}
	i.placed.Readme = strings.Replace(readme(staged), staged, dir, 1)
	found := hints(staged, i.plugin)
	for n := range found {
		found[n] = strings.ReplaceAll(found[n], staged, dir)
	}
	if len(found) > 0 || i.placed.Readme != "" && i.plugin.Warning != "" { // then its files will change
		found = append(found, "patchbay plugin trust "+program.Quote(i.plugin.Name))
	}
	return found
}

// same reports whether the same plugin is already installed, file by file.
func (i *installation) same() bool {
	if i.before == nil || !slices.Equal(i.sums, i.before.Files) || i.before.Origin != i.origin() {
		return false
	}
	now, err := trust.Take(i.roots(i.target, i.files))
	return err == nil && slices.Equal(now, i.before.Files)
}

func (i *installation) origin() trust.Origin {
	return trust.Origin{Source: i.Source.Text, Ref: i.Source.Ref, Commit: i.Commit, Plugin: i.plugin.ID()}
}

// put exchanges the files and records them, while it holds the lock. A process that finds the new
// files before they are recorded waits until the lock is free.
func (i *installation) put() error {
	var undo []func() error
	err := i.Fetched.o.book().Update(func(l *trust.Lock) (bool, error) {
		if i.files != "" {
			if err := i.markUnfinished(); err != nil {
				return false, err
			}
			back, err := swap(i.stagedF, i.files)
			if err != nil {
				return false, err
			}
			undo = append(undo, back)
			between()
		}
		back, err := swap(i.staged, i.target)
		if err != nil {
			return false, err
		}
		undo = append(undo, back)
		if err := i.Fetched.o.book().Keep(i.roots(i.target, i.files), i.sums); err != nil {
			i.placed.Notes = append(i.placed.Notes, "a later change cannot be shown line by line: "+err.Error())
		}
		l.Put(&trust.Entry{Dialect: i.plugin.Dialect, Name: i.plugin.Name, Path: i.target, Origin: i.origin(),
			Recorded: time.Now().UTC().Truncate(time.Second), Capabilities: i.placed.Capabilities, Files: i.sums})
		return true, nil
	})
	if err == nil {
		return nil
	}
	for n := len(undo) - 1; n >= 0; n-- {
		err = errors.Join(err, undo[n]())
	}
	return err
}

// between is called when the files of a plugin are in place, but not yet the program that starts
// them. Tests kill the process there.
var between = func() {}

// swap puts the staged files in place, and the replaced ones where the staged ones were. back
// undoes it.
func swap(staged, target string) (back func() error, err error) {
	if !exists(target) {
		return func() error { return os.Rename(target, staged) }, os.Rename(staged, target)
	}
	return func() error { return exchange(staged, target) }, exchange(staged, target)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Meant returns the plugins of a source that a name means: NAME, or DIALECT:NAME.
func (f *Fetched) Meant(name string) []Plugin {
	return slices.DeleteFunc(slices.Clone(f.Plugins), func(p Plugin) bool { return p.Name != name && p.ID() != name })
}

// NothingFound returns the error of a source without plugins.
func (f *Fetched) NothingFound() error {
	fix := "a plugin is a directory with a manifest (kaged, mine), a file dotagent-plugin-NAME, a Python file with hooks, or an executable program (scaffold)"
	dir := f.tree
	if f.Source.Kind == Directory {
		dir = f.Source.Path // the author's own
	}
	h := hints(dir, Plugin{Name: filepath.Base(dir)})
	switch {
	case len(h) == 0 || f.Source.Kind == SingleFile:
	case f.Source.Kind == Directory:
		fix = "perhaps it has to be built first: " + strings.Join(h, "; ")
	default:
		fix = "perhaps it has to be built first: get it yourself, build it, and install the directory or the program"
	}
	return &SourceError{why: f.Source.Text + ": no plugin was found there", fix: fix}
}
