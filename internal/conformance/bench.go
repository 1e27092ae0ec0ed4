package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

// A bench is one run: the plugin's directories, its processes, and what was seen. The checks use it
// one after another.
type bench struct {
	target Target
	opts   Options

	wanted  map[string]bool   // checks to report
	made    map[string]bool   // checks to run
	results map[string]Result // of every check that was run, also of those that are not reported
	causes  map[string]string // for the id of each check that was not tried: the id of the check that is the reason

	startMu sync.Mutex   // protects started and stuck: some checks start several processes at once
	started bool         // a process of the plugin has been started
	stuck   *startFailed // the first process could not be started; nil: it could

	ctx     context.Context // of the whole run
	current string          // the running check

	dir    string // all of the run's files
	home   string // the plugin's home
	work   string // the project that it works in
	env    dialect.Env
	procs  *proc.Group
	system *sandbox.System
	seen   sightings
	jail   jail
}

// open creates the directories of the run.
func (b *bench) open(ctx context.Context) error {
	dir, left, err := scratch.Make("test")
	if left != nil {
		b.opts.Log.Debug("the files of earlier runs could not be removed", "err", left)
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

// checkSandbox returns an error for a plugin that must be confined if there is no sandbox. The host
// would not start it either: docs/security.md.
func (b *bench) checkSandbox() error {
	if b.opts.Bare || !b.target.confinable() {
		return nil
	}
	err := b.system.Possible()
	if err != nil {
		err = fmt.Errorf("a plugin of %s may use only what it declares, and that cannot be enforced here: %w", b.target.Dialect, err)
	}
	return dialect.WithFix(err, "if you trust it, test it with --no-sandbox")
}

// close ends every process and removes the directories.
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

// usualDirs lists the directories of a home in which plugins of any dialect may be installed:
// plugins store files beside themselves.
func (b *bench) usualDirs() []string {
	var dirs []string
	for _, d := range []string{".config/dotagent/plugins", ".config/kaged", ".config/mine", ".local/share/mine/plugins", ".local/share/mine/store",
		".local/share/kaged/plugins", ".local/scaffold/plugins", ".local/state", ".cache", ".agent/plugins"} {
		dirs = append(dirs, filepath.Join(b.home, filepath.FromSlash(d)))
	}
	return dirs
}

// environ returns the host's environment with another home. Variables that lead to the tester's own
// plugins and settings are left out.
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

// mostTime is the longest time that a test waits for one answer. Some protocols allow more, for
// real work, which a test does not cause.
const mostTime = time.Minute

// limit returns how long a plugin has for an answer.
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
