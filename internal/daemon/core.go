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

// Options say what is opened. The zero value reads the configuration file of this process's
// environment.
type Options struct {
	Host   pluginhost.Options // Storage is filled in
	Model  string             // PROVIDER:NAME in place of the configuration's and $PATCHBAY_MODEL's; "": theirs
	Script string             // replies for the offline model to play; "": the configuration's

	NoAgentsMD bool // AGENTS.md of projects is left out, whatever the configuration says

	NoModel bool // nobody will be asked anything: the model need not be there
}

// A Core is a host, an engine, a model and the agent that brings them together.
type Core struct {
	Dirs     config.Dirs
	Host     *pluginhost.Host
	Engine   *engine.Engine
	Sessions *sessionstore.Store
	Features *featurestore.Features
	Journal  *journal.Journal
	Jobs     *Jobs

	options Options                       // what it was opened with
	opened  *config.Config                // the configuration then: that of the engine and the server
	config  atomic.Pointer[config.Config] // [Core.Reload] replaces it
	model   atomic.Pointer[model.Model]   // likewise
	faults  faults

	log   *slog.Logger
	dir   string      // where sessions work unless they say otherwise
	procs *proc.Group // of the tools
	tools []chat.Tool // the built-in ones
	began time.Time
	count *counts

	parsers      *parsers
	changing     sync.Mutex // held while the configuration is changed over HTTP
	projects     *projects  // nil until the host is open
	running      running
	closed       closedFile
	pluginEvents *pluginEvents

	version     string                    // of this program; tests set another
	at          atomic.Pointer[Addresses] // where it listens; nil: nowhere yet
	forHooks    bool                      // a hook of another agent has started this daemon
	hosts       hostState                 // other agents, whose hooks are answered
	hostRecords hostRecords
	exports     atomic.Pointer[otlp.Queue] // nil: traces are not exported
	closing     sync.Once
}

// Open brings everything up. What fails is the configuration's fault, or the engine's; a plugin
// that fails is left out.
func Open(ctx context.Context, o Options) (*Core, error) {
	c := &Core{log: o.Host.Logger, began: time.Now(), version: pluginhost.Version, parsers: newParsers()}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
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
	c.options = o
	c.model.Store(&m)
	if err := c.openEngine(ctx); err != nil {
		return err
	}
	c.pluginEvents = newPluginEvents(c)
	o.Host.Storage, o.Host.OnNotification, o.Host.OnDenied = c.storage(), c.postNotification, c.pluginEvents.denied
	o.Host.OnWired = func() { c.closed.poke(); c.pluginEvents.poke() }
	o.Host.Logger = slog.New(pluginlog.Watch(c.log.Handler(), c.pluginEvents.wrote))
	if c.Host, err = pluginhost.Open(ctx, &o.Host); err != nil {
		return err
	}
	c.projects = newProjects(c.Host, c.log)
	c.projects.changed = c.closed.poke
	c.procs = proc.NewGroup(c.log)
	// What this process holds names all that it starts: whoever takes it over waits until none of
	// that runs any more.
	c.Sessions.Holder = lease.Self(c.Host.Mark(), c.procs.Mark())
	c.Sessions.Logger = c.log
	c.tools = builtin.Tools(builtin.Options{Procs: c.procs, Environ: o.Host.Environ, Logger: c.log})
	if err := c.openJobs(o.Host.Environ, secrets); err != nil {
		return err
	}
	c.count = newCounts(c)
	return nil
}

// storage is where plugins keep what they store: in the engine there is, within the limits of the
// configuration.
func (c *Core) storage() func(plugin string, quota dialect.StorageQuota) dialect.Storage {
	all := storage.New(func(context.Context) (engine.Store, error) { return c.Engine, nil })
	return func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return all.Plugin(plugin, storage.Quota(quota))
	}
}

// configure reads what the operator wrote.
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
	if o.Host.Files, err = pluginhost.ReadFiles(c.Dirs); err != nil {
		return nil, err
	}
	c.config.Store(o.Host.Files.Config)
	c.opened = o.Host.Files.Config
	return o.Host.Files.Secrets, nil
}

// Config is what the operator wrote, as it was last read. It is nil before the core is open.
func (c *Core) Config() *config.Config { return c.config.Load() }

// Model is who answers.
func (c *Core) Model() model.Model { return *c.model.Load() }

// openModel: a flag goes before $PATCHBAY_MODEL, and that before the configuration.
func (c *Core) openModel(o Options, read *config.Config, secrets *config.Secrets) (model.Model, error) {
	if o.NoModel {
		return model.Offline(nil), nil
	}
	getenv := dialect.Env{Vars: o.Host.Environ}.Get
	m := read.Model
	mc := model.Config{Provider: string(m.Provider), Name: m.Name, BaseURL: m.BaseURL, Window: m.Window,
		Lookup: secrets.Lookup, Getenv: getenv, Logger: c.log}
	var err error
	if m.Script != "" {
		if mc.Script, err = c.Dirs.Resolve(m.Script); err != nil {
			return nil, err
		}
	}
	if name := cmp.Or(o.Model, getenv("PATCHBAY_MODEL")); name != "" {
		if mc, err = mc.With(name); err != nil {
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

// checkPlaces refuses directories in which others could have put what we would take for ours. Those
// that are not there yet are made for the user alone.
func checkPlaces(dirs ...string) error {
	for _, dir := range dirs {
		if err := localsock.CheckDir(dir); dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// A ModelError says why the model that was configured cannot be asked: its name, its key or its
// script.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return e.Err.Error() }
func (e *ModelError) Unwrap() error { return e.Err }

// Dir is where sessions work unless they say otherwise.
func (c *Core) Dir() string { return c.dir }

// Close ends the turns that are still running, then the plugins, and writes what is left to be
// written. The engine is last: everybody keeps something in it.
func (c *Core) Close() (err error) {
	c.closing.Do(func() {
		if !c.running.interruptAll(interruptGrace) {
			c.log.Warn("turns do not end, and are left behind")
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
		if c.projects != nil {
			c.projects.close()
		}
		errs = append(errs, c.Host.Close())
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

// Tools are the built-in tools and those of the plugins that are there now.
func (c *Core) Tools() []chat.Tool { return c.toolsOf(c.Host) }

// toolsOf are the tools of an agent with these plugins.
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

// agent is an agent with these plugins that asks approve before a tool changes things; nil:
// everything is allowed.
func (c *Core) agent(host *pluginhost.Host, approve chat.Approver) *chat.Agent {
	return &chat.Agent{Host: host, Model: c.Model(), Tools: func() []chat.Tool { return c.toolsOf(host) }, Approve: approve, Logger: c.log,
		Compact: chat.CompactOptions{Strategy: string(c.Config().Chat.Compact)}}
}

// Deny is an approver that refuses everything, and says why.
func Deny(reason string) chat.Approver {
	return func(context.Context, chat.Tool, model.ToolCall) (chat.Approval, error) {
		return chat.Approval{Reason: reason}, nil
	}
}

// joined is a list as a person reads it.
func joined(names []string) string { return strings.Join(names, ", ") }
