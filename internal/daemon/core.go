package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/chat/builtin"
	"github.com/patchbay-dev/patchbay/adapter/mcp"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/featurestore"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/otlp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
	"github.com/patchbay-dev/patchbay/internal/storage"
)

// Options are the options of [Open]. The zero value reads the configuration file that the
// environment of this process names.
type Options struct {
	Host   pluginhost.Options // Open replaces Files, Storage, OnNotification, OnDenied and OnWired
	Model  string             // PROVIDER:NAME; overrides the configuration and $PATCHBAY_MODEL; "": no override
	Script string             // the script of the offline model; "": the configuration's

	NoAgentsMD bool // ignore the AGENTS.md of projects, also if the configuration does not say so

	NoModel bool // the caller runs no turn: do not open the configured model

	OnlyNamed bool // the caller fires only events of jobs: open a dotagent plugin only when the manifest of a run names it
}

// A Core is a host, an engine, a model and the agent that uses them.
type Core struct {
	Dirs     config.Dirs
	Host     *pluginhost.Host
	Engine   *engine.Engine
	Sessions *sessionstore.Store
	Features *featurestore.Features
	Journal  *journal.Journal
	Jobs     *Jobs

	options atomic.Pointer[Options]          // the options of Open; replaced by [Core.UseModel]
	opened  *config.Config                   // the configuration that Open read: engine and server keep it
	files   atomic.Pointer[pluginhost.Files] // replaced by [Core.Reload]
	model   atomic.Pointer[model.Model]      // replaced by [Core.Reload] and [Core.UseModel]
	faults  faults

	// The secrets that must not be stored: those of the files, and those of the host as soon as it
	// is open. Plugins can send something before the host is open.
	hidden atomic.Pointer[func() *pluginhost.Hidden]

	log   *slog.Logger
	dir   string      // the working directory of sessions that name none
	procs *proc.Group // the processes of the tools
	tools []chat.Tool // the built-in tools
	began time.Time
	count *counts

	parsers      *parsers
	changing     sync.Mutex // held while a client changes the configuration over HTTP
	projects     *projects  // nil until the host is open
	named        namedPlugins
	running      running
	closed       closedFile
	pluginEvents *pluginEvents

	version     string                     // the version of this program; tests set another
	at          atomic.Pointer[Addresses]  // where the daemon listens; nil: not yet
	clients     atomic.Pointer[mcp.Server] // the daemon's MCP server over HTTP; nil: not yet
	forHooks    bool                       // a hook of another agent has started this daemon
	hosts       hostState                  // the other agents whose hooks are answered
	hostRecords hostRecords
	exports     atomic.Pointer[otlp.Queue] // nil: traces are not exported
	closing     sync.Once
}

// Open reads the configuration and opens model, engine, plugins and jobs. It fails if the
// configuration is wrong, or if the model or the engine cannot be opened. A plugin that fails is
// left out.
func Open(ctx context.Context, o Options) (*Core, error) {
	c := &Core{log: cmp.Or(o.Host.Logger, slog.New(slog.DiscardHandler)), began: time.Now(), version: pluginhost.Version, parsers: newParsers()}
	if err := c.open(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Core) open(ctx context.Context, o Options) (err error) {
	secrets, err := c.configure(&o)
	if err != nil {
		return err
	}
	m, err := c.openModel(o, c.Config(), secrets)
	if err != nil {
		return &ModelError{err}
	}
	given := o
	c.options.Store(&given)
	c.model.Store(&m)
	if err := c.openEngine(ctx); err != nil {
		return err
	}
	c.pluginEvents = newPluginEvents(c)
	o.Host.Storage, o.Host.OnNotification, o.Host.OnDenied = c.storage(), c.postNotification, c.pluginEvents.denied
	o.Host.OnWired = func() { c.closed.poke(); c.pluginEvents.poke() }
	o.Host.Logger = slog.New(pluginlog.Watch(c.log.Handler(), c.pluginEvents.wrote))
	if o.OnlyNamed {
		o.Host.Needs = c.named.needs(o.Host.Needs)
	}
	if c.Host, err = pluginhost.Open(ctx, &o.Host); err != nil {
		return err
	}
	ofHost := c.Host.Hidden
	c.hidden.Store(&ofHost)
	c.projects = newProjects(c.Host, c.log)
	c.projects.changed = c.closed.poke
	c.procs = proc.NewGroup(c.log)
	// The holder is stored with each lease. Its marks identify all processes that this process
	// starts. Another process that takes a lease over waits until none of them runs.
	c.Sessions.Holder = lease.Self(c.Host.Mark(), c.procs.Mark())
	c.Sessions.Logger = c.log
	c.tools = builtin.Tools(builtin.Options{Procs: c.procs, Environ: o.Host.Environ, Logger: c.log})
	if err := c.openJobs(o.Host.Environ, secrets); err != nil {
		return err
	}
	c.count = newCounts(c)
	return nil
}

// storage returns the function that gives each plugin its storage: in the engine, within the limits
// of the configuration.
func (c *Core) storage() func(plugin string, quota dialect.StorageQuota) dialect.Storage {
	all := storage.New(func(context.Context) (engine.Store, error) { return c.Engine, nil })
	return func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return all.Plugin(plugin, storage.Quota(quota))
	}
}

// configure finds the directories, and reads config.toml and secrets.toml, unless the caller has.
func (c *Core) configure(o *Options) (*config.Secrets, error) {
	if o.Host.Environ == nil {
		o.Host.Environ = os.Environ()
	}
	var err error
	if c.dir, err = filepath.Abs(o.Host.Dir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	if c.Dirs, err = config.Locate(dialect.Env{Vars: o.Host.Environ}.Get, runtime.GOOS); err != nil {
		return nil, err
	}
	if c.Dirs, err = c.Dirs.WithConfig(o.Host.ConfigFile); err != nil {
		return nil, err
	}
	if o.Host.Files == nil {
		if o.Host.Files, err = pluginhost.ReadFiles(c.Dirs); err != nil {
			return nil, err
		}
	}
	dirs, files, environ := c.Dirs, o.Host.Files, o.Host.Environ
	ofFiles := sync.OnceValue(func() *pluginhost.Hidden { return pluginhost.HiddenIn(dirs, files, environ) })
	c.hidden.Store(&ofFiles)
	c.files.Store(o.Host.Files)
	c.opened = o.Host.Files.Config
	return o.Host.Files.Secrets, nil
}

// Config returns the configuration that was last read. It is nil before the core is open.
func (c *Core) Config() *config.Config {
	if files := c.files.Load(); files != nil {
		return files.Config
	}
	return nil
}

// Model returns the model that answers.
func (c *Core) Model() model.Model { return *c.model.Load() }

// openModel opens the configured model. A flag overrides $PATCHBAY_MODEL, which overrides the
// configuration.
func (c *Core) openModel(o Options, read *config.Config, secrets *config.Secrets) (model.Model, error) {
	if o.NoModel {
		return model.Offline(nil), nil
	}
	return openModel(o, c.Dirs, read, secrets, c.log)
}

func openModel(o Options, dirs config.Dirs, read *config.Config, secrets *config.Secrets, log *slog.Logger) (model.Model, error) {
	getenv := dialect.Env{Vars: o.Host.Environ}.Get
	m := read.Model
	mc := model.Config{Provider: string(m.Provider), Name: m.Name, BaseURL: m.BaseURL, Window: m.Window,
		Lookup: secrets.Lookup, Getenv: getenv, Logger: log}
	var err error
	if m.Script != "" {
		if mc.Script, err = dirs.Resolve(m.Script); err != nil {
			return nil, err
		}
	}
	if name := cmp.Or(o.Model, getenv("PATCHBAY_MODEL")); name != "" {
		if mc, err = mc.With(name); err != nil && o.Model == "" {
			return nil, fmt.Errorf("$PATCHBAY_MODEL: %w", err)
		} else if err != nil {
			return nil, err
		}
	}
	if o.Script != "" {
		mc.Provider, mc.Script = model.ProviderOffline, o.Script
	}
	return model.Open(mc)
}

func (c *Core) openEngine(ctx context.Context) error {
	eo, err := engine.Configured(c.Dirs, c.Config().Engine)
	if err != nil {
		return err
	}
	if err := checkPlaces(eo.Dir, c.Dirs.State); err != nil {
		return err
	}
	eo.Logger = c.log
	if c.Engine, err = engine.Open(ctx, eo); err != nil {
		return err
	}
	c.Sessions = sessionstore.New(c.Engine)
	c.Features = featurestore.New(c.Engine)
	c.Journal = journal.New(c.Engine, journal.Options{Logger: c.log})
	return nil
}

// checkPlaces returns an error if another user could write to one of the directories. Directories
// that do not exist are accepted: they are made for the user alone.
func checkPlaces(dirs ...string) error {
	for _, dir := range dirs {
		if err := localsock.CheckDir(dir); dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// A ModelError says why the configured model cannot be used: its name, its key or its script is
// wrong.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }
func (e *ModelError) Unwrap() error { return e.Err }

// Dir returns the working directory of sessions that name none.
func (c *Core) Dir() string { return c.dir }

// Close interrupts the running turns, closes the plugins, and writes all remaining records. It
// closes the engine last, because everything else stores data in it.
func (c *Core) Close() (err error) {
	c.closing.Do(func() {
		if !c.running.interruptAll(interruptGrace) {
			c.log.Warn("some turns did not end when they were interrupted")
		}
		c.hostRecords.close()
		c.parsers.close()
		c.stopExport()
		err = errors.Join(c.closeJobs(), c.closeHost(), c.closeEngine())
	})
	return err
}

func (c *Core) closeJobs() error {
	if c.Jobs == nil {
		return nil
	}
	return c.Jobs.close()
}

func (c *Core) closeHost() error {
	var errs []error
	if c.procs != nil {
		errs = append(errs, c.procs.Close())
	}
	if c.Host != nil {
		others := func() {}
		if c.projects != nil {
			others = c.projects.close
		}
		errs = append(errs, c.Host.CloseWith(others)) // at once, because each plugin may need half a minute
	}
	return errors.Join(errs...)
}

func (c *Core) closeEngine() error {
	var errs []error
	if c.Journal != nil {
		errs = append(errs, c.Journal.Close())
	}
	if c.Engine != nil {
		errs = append(errs, c.Engine.Close())
	}
	return errors.Join(errs...)
}

// Tools returns the built-in tools and the tools of the running plugins.
func (c *Core) Tools() []chat.Tool { return c.toolsOf(c.Host) }

// toolsOf returns the built-in tools and the tools of host's plugins.
func (c *Core) toolsOf(host *pluginhost.Host) []chat.Tool {
	tools := append([]chat.Tool(nil), c.tools...)
	for _, t := range host.Tools() {
		tools = append(tools, chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Plugin: t.Plugin, Definition: t.Definition,
			Run: func(ctx context.Context, call chat.Call) (chat.ToolResult, error) {
				r, err := host.CallTool(ctx, t.Name, call.Arguments)
				if err != nil {
					return chat.ToolResult{}, err
				}
				return chat.ToolResult{Output: r.Result, Success: r.Success, Error: r.Error, Raw: r.Raw, Pending: r.Pending}, nil
			}})
	}
	return tools
}

// agent returns an agent with host's plugins. It calls approve before a tool changes things; nil
// allows everything.
func (c *Core) agent(host *pluginhost.Host, approve chat.Approver) *chat.Agent {
	return &chat.Agent{Host: host, Model: c.Model(), Tools: func() []chat.Tool { return c.toolsOf(host) }, Approve: approve, Logger: c.log,
		Compact: chat.CompactOptions{Strategy: string(c.Config().Chat.Compact)}}
}

// Deny returns an approver that refuses every call with the given reason.
func Deny(reason string) chat.Approver {
	return func(context.Context, chat.Tool, model.ToolCall) (chat.Approval, error) {
		return chat.Approval{Reason: reason}, nil
	}
}

// joined returns the names as one text for people.
func joined(names []string) string { return strings.Join(names, ", ") }
