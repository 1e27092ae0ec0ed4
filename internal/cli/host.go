package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcphttp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/storage"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// needs reports whether a command needs a plugin; nil: it needs all.
type needs func(pluginhost.Candidate) bool

// options returns the options of a host as the global flags say.
func (a *app) options(n needs) *pluginhost.Options {
	starting, stopping := a.onStarting(), a.onStopping() // before the logger, which writes above the live line that this creates
	return &pluginhost.Options{
		OnStarting: starting,
		OnStopping: stopping,
		Files:      a.readFiles(), // before the logger, which removes these secrets from its lines
		Logger:     a.logger(),
		ConfigFile: a.path(a.flags.config),
		Environ:    a.Environ,
		Dir:        a.dir(),
		Dialects:   a.flags.dialects,
		Needs:      n,
		Remote:     mcphttp.New,
		Record:     a.recorder(),

		ReservedPrompt: tui.Reserved,
	}
}

// readFiles reads the configuration and the secrets, once for the host and for the logs. It returns
// nil if it cannot: opening a host reads the files again, and reports the error.
func (a *app) readFiles() *pluginhost.Files {
	dirs, err := a.located()
	if err != nil {
		return nil
	}
	files, err := pluginhost.ReadFiles(dirs)
	if err != nil {
		return nil
	}
	a.files = files
	return files
}

// located returns Patchbay's directories. With --config they have that file, which need not exist,
// and the lock beside it.
func (a *app) located() (config.Dirs, error) {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return dirs, err
	}
	return dirs.WithConfig(a.path(a.flags.config))
}

// open opens a host. An error before any plugin is called counts as an error of the configuration,
// unless it has another kind.
func (a *app) open(ctx context.Context, opts *pluginhost.Options) (*pluginhost.Host, error) {
	if err := a.checkPlaces(); err != nil {
		return nil, err
	}
	host, err := pluginhost.Open(ctx, opts)
	a.starting.stop()
	if err != nil && !errors.Is(err, pluginhost.ErrNotFound) && !errors.Is(err, pluginhost.ErrNoDialect) && !is[*config.Error](err) {
		return nil, &problem{kind: kindConfig, err: err}
	}
	return host, err
}

// checkPlaces checks the paths of the global flags, so that the error names the flag.
func (a *app) checkPlaces() error {
	if a.flags.dir != "" {
		if info, err := os.Stat(a.dir()); err != nil || !info.IsDir() {
			return usage("name a directory that exists", "--dir %s: no such directory", a.flags.dir)
		}
	}
	for _, d := range a.flags.dialects {
		if known := pluginhost.Dialects(); !slices.Contains(known, d) {
			return usage(suggestName(d, known, "it is one of "+strings.Join(known, ", ")), "--dialect %q: %w", d, pluginhost.ErrNoDialect)
		}
	}
	if a.flags.config != "" {
		if _, err := os.Stat(a.path(a.flags.config)); err != nil {
			return &problem{kind: kindConfig, err: fmt.Errorf("--config: %w", err),
				fix: "name a file that exists, or leave --config out to use the default one"}
		}
	}
	return nil
}

// withHost opens a host, calls use, and stops its plugins again.
func (a *app) withHost(ctx context.Context, n needs, use func(*pluginhost.Host) error) error {
	return a.withOptions(ctx, a.options(n), use)
}

func (a *app) withOptions(ctx context.Context, opts *pluginhost.Options, use func(*pluginhost.Host) error) error {
	own := storage.NewOwn(a.getenv, opts.ConfigFile, opts.Logger)
	opts.Storage = func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return own.Plugin(plugin, storage.Quota(quota))
	}
	defer func() {
		if err := own.Close(); err != nil {
			opts.Logger.Warn("cannot close the storage of plugins", "err", err)
		}
	}()
	host, err := a.open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() {
		if err := host.Close(); err != nil { // the result of the command is not affected
			opts.Logger.Warn("plugins did not stop cleanly", "err", err)
		}
	}()
	return use(host)
}

// withPlugin is withHost for a command about one plugin. It first starts only the plugins that seem
// to have the name, by their files. If none of them has it, it starts the plugins whose files do
// not show what they declare, to ask for their names.
func (a *app) withPlugin(ctx context.Context, name string, use func(*pluginhost.Host) error) error {
	var known []string
	guess := func(c pluginhost.Candidate) bool {
		known = append(known, c.Name)
		return isNamed(c, name, c.Name, c.Place, c.Called) || trimExt(filepath.Base(c.Path)) == name
	}
	asked := false
	err := a.withHost(ctx, guess, func(h *pluginhost.Host) error {
		if asked = hasPlugin(h, name); !asked {
			return nil
		}
		return use(h)
	})
	if err != nil || asked {
		return err
	}
	return a.withHost(ctx, func(c pluginhost.Candidate) bool { return !c.Known }, func(h *pluginhost.Host) error {
		if !hasPlugin(h, name) {
			return noPlugin(h, name, known)
		}
		return use(h)
	})
}

// namedWhenRun is the dialect whose plugins say their names only when they run.
const namedWhenRun = "scaffold"

// withRivals is withPlugin for a command that says whether a plugin is used. That can depend on
// other plugins of its dialect: one may have the same name, or there may be too many. If they must
// run to find out, all of them are started.
func (a *app) withRivals(ctx context.Context, name string, use func(*pluginhost.Host) error) error {
	late := false
	err := a.withPlugin(ctx, name, func(h *pluginhost.Host) error {
		p, err := h.Plugin(name)
		if late = err == nil && p.State == dialect.Ready && p.Dialect == namedWhenRun; late {
			return nil
		}
		return use(h)
	})
	if err != nil || !late {
		return err
	}
	return a.withHost(ctx, func(c pluginhost.Candidate) bool { return c.Dialect == namedWhenRun }, use)
}

// isNamed reports whether name is one of the given names of a plugin. It may be DIALECT:NAME.
func isNamed(c pluginhost.Candidate, name string, names ...string) bool {
	return slices.ContainsFunc(names, func(own string) bool { return own != "" && (own == name || c.Dialect+":"+own == name) })
}

// hasPlugin reports whether a plugin exists. An ambiguous name exists more than once.
func hasPlugin(h *pluginhost.Host, name string) bool {
	_, err := h.Plugin(name)
	return !errors.Is(err, pluginhost.ErrNotFound)
}

func trimExt(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }

// noPlugin returns the error for a plugin that does not exist. If a dialect ignores a file or
// directory of that name, the error says why.
func noPlugin(host *pluginhost.Host, name string, known []string) error {
	for _, f := range host.Doctor() {
		if base := filepath.Base(f.Where); f.Plugin == "" && f.Dialect != "" && (name == base || name == f.Dialect+":"+base) {
			return withFix(fmt.Errorf("plugin %s: %w: %s: %s", name, pluginhost.ErrNotFound, f.Where, f.Problem), f.Fix)
		}
	}
	return withFix(fmt.Errorf("plugin %s: %w", name, pluginhost.ErrNotFound),
		suggestName(name, known, "`patchbay plugin list` lists the plugins"))
}

// needTool selects the plugins that have a tool, and those that declare their tools only when they
// run. It appends the tools of all other plugins to passed.
func needTool(name string, passed *[]string) needs {
	return func(c pluginhost.Candidate) bool {
		has := func(full string) bool { return full == name || shortFor(full, name) }
		if c.Known && !slices.ContainsFunc(c.Tools, has) {
			*passed = append(*passed, c.Tools...)
			return false
		}
		return true
	}
}

// needHooks selects the plugins with hooks.
func needHooks(c pluginhost.Candidate) bool { return len(c.Points) > 0 }

// needPoints selects the plugins with hooks at these points.
func needPoints(points ...hook.Point) needs {
	return func(c pluginhost.Candidate) bool {
		return slices.ContainsFunc(points, func(p hook.Point) bool { return slices.Contains(c.Points, p) })
	}
}
