package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

// A bench is one run: the plugin's surroundings, its processes, and what was seen of it. The checks
// use it one after another.
type bench struct {
	target Target
	opts   Options

	wanted  map[string]bool // checks to be reported
	made    map[string]bool // checks to be made
	results map[string]Status
	reasons map[string]string // why checks were not tried, by their ids

	ctx     context.Context // of the whole run
	current string          // the check under way

	dir    string // all of the run's files
	home   string // the plugin's home
	work   string // the project that it works in
	env    dialect.Env
	procs  *proc.Group
	system *sandbox.System
	seen   sightings
	jail   jail
}

// open makes the surroundings.
func (b *bench) open(ctx context.Context) error {
	dir, left, err := scratch.Make("test")
	if left != nil {
		b.opts.Log.Debug("what earlier runs left could not be removed", "err", left)
	}
	if err != nil {
		return err
	}
	b.dir, b.home, b.work = dir, filepath.Join(dir, "home"), filepath.Join(dir, "project")
	for _, d := range append(b.usualDirs(), b.work, filepath.Join(dir, "tmp")) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	b.env = dialect.Env{Vars: b.environ()}
	b.procs = proc.NewGroup(b.opts.Log)
	b.system = b.opts.system
	if b.system == nil && b.target.confinable() && !b.opts.Bare {
		b.system = sandbox.Probe(ctx, b.procs)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.checkSandbox()
}

// checkSandbox is the error of a plugin that should be confined, where there is no sandbox. The
// host would not start it either: docs/security.md.
func (b *bench) checkSandbox() error {
	if b.opts.Bare || !b.target.confinable() {
		return nil
	}
	err := b.system.Possible()
	if err != nil {
		err = fmt.Errorf("a plugin of %s is held to what it declares, and that cannot be done here: %w", b.target.Dialect, err)
	}
	return dialect.WithFix(err, "if you trust it, test it with --no-sandbox")
}

// close ends every process, and removes the surroundings.
func (b *bench) close() error {
	var err error
	if b.procs != nil {
		err = b.procs.Close()
	}
	if b.dir == "" {
		return err
	}
	if removed := scratch.Remove(b.dir); removed != nil {
		err = errors.Join(err, fmt.Errorf("the files of the test: %w", removed))
	}
	return err
}

// usualDirs are the directories of a home in which plugins of any dialect were ever installed: they
// keep files beside themselves.
func (b *bench) usualDirs() []string {
	var dirs []string
	for _, d := range []string{".config/dotagent/plugins", ".config/kaged", ".config/mine", ".local/share/mine/plugins", ".local/share/mine/store",
		".local/share/kaged/plugins", ".local/scaffold/plugins", ".local/state", ".cache", ".agent/plugins"} {
		dirs = append(dirs, filepath.Join(b.home, filepath.FromSlash(d)))
	}
	return dirs
}

// environ is the host's environment with another home. Nothing in it leads to the files of the
// person who runs the test, but for PATH.
func (b *bench) environ() []string {
	moved := map[string]string{"HOME": b.home, "TMPDIR": filepath.Join(b.dir, "tmp")}
	var vars []string
	for _, v := range b.opts.Environ {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "XDG_") || name == "SCAFFOLD_HOME" || name == "DOTAGENT_PLUGIN_PATH" || name == "PWD" || name == "OLDPWD" || moved[name] != "" {
			continue
		}
		vars = append(vars, v)
	}
	for name, value := range moved {
		vars = append(vars, name+"="+value)
	}
	slices.Sort(vars)
	return vars
}

// mostTime is the longest that a test waits for one answer. Some protocols allow more for real
// work, which a test does not give.
const mostTime = time.Minute

// limit is how long a plugin has for an answer.
func (b *bench) limit(usual time.Duration) time.Duration {
	usual = min(usual, mostTime)
	if b.opts.within != nil {
		return b.opts.within(b.current, usual)
	}
	return usual
}

// suite lists the checks of the target's dialect.
func (b *bench) suite() []Check {
	switch b.target.Dialect {
	case "dotagent":
		return (&dotagentSuite{bench: b}).checks()
	case "mine":
		return (&mineSuite{bench: b}).checks()
	case "kaged":
		return newKagedSuite(b).checks()
	case "scaffold":
		return newScaffoldSuite(b).checks()
	case "python":
		return (&pythonSuite{bench: b}).checks()
	case "mcp":
		return newMCPSuite(b).checks()
	}
	return nil
}
