package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
	"github.com/patchbay-dev/patchbay/internal/trust"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// ErrClosed is returned by calls to a closed host.
var ErrClosed = errors.New("the host is closed")

// ErrNotFound is returned for a plugin, tool or method that does not exist.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is returned for a name that plugins of several dialects have. Written DIALECT:NAME,
// it means one of them.
var ErrAmbiguous = errors.New("several plugins have this name")

// A ToolResult is the result of a tool call.
type ToolResult = dialect.ToolResult

// A Tool is a function that a plugin offers.
type Tool = dialect.Tool

// A Host is a set of running plugins. It is safe for concurrent use.
type Host struct {
	current   atomic.Pointer[setup] // [Host.Reload] replaces it
	procs     *proc.Group
	tallies   *tallies
	bus       hook.Bus
	ownPoints map[hook.Point]*ownPoint    // the program's own points; fixed once the host is open
	plugins   atomic.Pointer[roster]      // nil until the first hooks are on the bus
	found     atomic.Pointer[foundPlaces] // the places of the last search
	refreshMu sync.Mutex                  // held while Refresh or Close replaces the roster
	wireMu    sync.Mutex                  // held while hooks are put on the bus
	warned    warned
	retired   chan struct{} // closed when the roster that was replaced last has closed its plugins; protected by refreshMu

	retiring sync.WaitGroup // replaced rosters that wait for their last event

	renewals renewals
	watching watchers

	system func() *sandbox.System // what the sandbox can enforce here; probed on the first call

	closing sync.Once
	closed  chan struct{} // closed when Close begins
}

// A roster is the list of a host's plugins at one moment. It is not changed while in use:
// [Host.Refresh] replaces it.
type roster struct {
	entries []*entry          // the plugins that were found and are needed, in order
	names   census            // the names of all plugins that were found
	closed  bool              // names are looked up only among the entries, because the caller named their paths or directories
	tools   map[string]*entry // by the tool's full name
	kept    []keptEntry       // the entries that go on unchanged because their new files do not work
	scripts []*entry          // files that are no plugins, because they are not executable, and whose failure ends events

	uses    atomic.Int64  // events and calls in progress that began with this roster
	retired atomic.Bool   // another roster has replaced it
	idle    chan struct{} // receives a value when uses reaches zero after retirement; has room for one
}

// An entry is one plugin that was found, and its state.
type entry struct {
	found    dialect.Found
	names    pluginNames
	own      sections // the configuration's tables about it
	dialect  dialect.Dialect
	settings dialect.Settings
	plugin   dialect.Plugin  // nil unless ready
	absent   dialect.HookSet // if it is broken: hooks that all fail, in place of its own; nil: there are none
	info     dialect.Info    // from its files, then from the running plugin
	state    dialect.State
	err      error  // why it is not ready
	leftOut  bool   // the log already says that it is left out
	named    bool   // the caller named it, or its directory: it is not from the places that are searched
	hidden   string // for a project's plugin: the path of the user's plugin with the same name; "": there is none
	trust    trust.Verdict
	stamp    stamp // of its files, when it was opened
	tally    *tally
	policy   *policy       // the sandbox's rules for it; nil: not confined
	limits   config.Limits // the limits it was started with
	alone    bool          // no other plugin's place has the same name
	denials  denials       // what its sandbox refused
	again    atomic.Bool   // it must be opened again
	odd      oddities      // problems noticed while it ran
	mounts   mounts        // the part of the file system that it sees
}

// Open finds plugins, starts them and returns when each is ready or has failed. The failure of a
// plugin is not an error of Open: [Host.Plugins] lists the plugin with the reason. ctx limits the
// opening, not the life of the host.
func Open(ctx context.Context, opts *Options) (*Host, error) {
	s, err := opts.setup()
	if err != nil {
		return nil, err
	}
	h, err := newHost(s)
	if err != nil {
		return nil, err
	}
	h.procs, h.tallies = proc.NewGroup(s.Logger), &tallies{}
	h.system = sync.OnceValue(func() *sandbox.System {
		found := s.system
		if found == nil {
			found = sandbox.Probe(context.Background(), h.procs)
		}
		here := *found
		here.Token = !s.config.Server.Token.Empty()
		return &here
	})
	if err := h.refresh(ctx, s.names()); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// newHost returns a host without plugins.
func newHost(s *setup) (*Host, error) {
	h := &Host{closed: make(chan struct{})}
	h.current.Store(s)
	h.bus.Failures = dialect.Failures
	return h, h.declare(s.Points)
}

// setup returns the current options and configuration.
func (h *Host) setup() *setup { return h.current.Load() }

// roster returns the current plugins; an empty roster before the host is open.
func (h *Host) roster() *roster {
	if r := h.plugins.Load(); r != nil {
		return r
	}
	return &roster{}
}

// Fire sends one event through the plugins that hook its point. The payload is any value that
// encodes to a JSON object; nil means an empty object. A json.RawMessage is used without a copy, so
// the caller must not change it afterwards.
//
// A refusal is not an error: see the outcome's Verdict. Fire returns an error if the host is
// closed, the point does not exist or the payload is invalid; the outcome is then nil. It also
// returns an error if ctx has ended, or if a plugin failed and that aborts the event; the outcome's
// Verdict is then [hook.Deny].
func (h *Host) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	raw, err := encode(payload)
	if err != nil {
		return nil, fmt.Errorf("%s: payload: %w", point, err)
	}
	if err := h.checkPayload(point, raw); err != nil {
		return nil, err
	}
	if point == hook.TurnBegin {
		h.checkFiles(ctx)
	}
	defer h.enter().leave()
	out, err := h.bus.Fire(ctx, point, raw)
	if point == hook.TurnDone {
		h.endTurn(ctx)
	}
	if out != nil {
		h.suggestForSteps(out)
	}
	h.recordEvent(ctx, Traffic{Point: point, Payload: raw, Outcome: out, Err: err})
	if out != nil && ctx.Err() == nil { // after the caller's cancellation, failures are expected
		h.logSkippedFailures(ctx, out)
	}
	return out, err
}

// checkFiles lets plugins check their files before a turn begins.
func (h *Host) checkFiles(ctx context.Context) {
	for _, e := range h.roster().entries {
		e.checkFile(ctx)
	}
}

// endTurn tells plugins that a turn is over.
func (h *Host) endTurn(ctx context.Context) {
	for _, e := range h.roster().entries {
		if p, ok := e.plugin.(dialect.TurnEnder); ok {
			p.EndTurn(ctx)
		}
	}
}

// Wants reports whether any plugin would be called at point with this payload. If not, the caller
// need not collect expensive data for it.
func (h *Host) Wants(point hook.Point, payload any) bool {
	raw, err := encode(payload)
	return err == nil && h.bus.Wants(point, raw)
}

// Alters reports whether a plugin that takes part at point can change the outcome of an event. The
// context may limit the plugins: see [hook.WithChoice]. Plugins that only observe, such as a
// connected dotagent sink, do not count. If Alters is true, a program that shows text as it arrives
// must wait until the plugins have seen it.
func (h *Host) Alters(ctx context.Context, point hook.Point) bool { return h.bus.Alters(ctx, point) }

// Listens reports whether any plugin is called at point, for any payload. Unlike Wants, it needs no
// payload.
func (h *Host) Listens(ctx context.Context, point hook.Point) bool { return h.bus.Listens(ctx, point) }

// Closed returns the names of the plugins without which events at point are refused: see
// [hook.Bus.Closed].
func (h *Host) Closed(point hook.Point) []string { return h.bus.Closed(point) }

// CallTool calls a plugin's tool by its full name. The arguments are any value that encodes to a
// JSON object, as for [Host.Fire]. If the tool ran and failed, the result has Success false.
// CallTool returns an error only if there is no result.
func (h *Host) CallTool(ctx context.Context, name string, args any) (*ToolResult, error) {
	result, _, err := h.TraceTool(ctx, name, args)
	return result, err
}

// TraceTool calls a tool as [Host.CallTool] does, and returns the plugin's part in it: what it was
// sent, what it answered, how long it took and how it failed. The step is nil if no plugin was
// called.
func (h *Host) TraceTool(ctx context.Context, name string, args any) (*ToolResult, *hook.Step, error) {
	if h.isClosed() {
		return nil, nil, ErrClosed
	}
	r := h.enter()
	defer r.leave()
	e := r.toolOwner(name)
	if e == nil {
		return nil, nil, h.noTool(name)
	}
	raw, err := encodeObject(args)
	if err != nil {
		return nil, nil, fmt.Errorf("tool %s: arguments: %w", name, err)
	}
	caller := e.plugin.(dialect.ToolCaller) // wire lists only tools of a ToolCaller
	began := time.Now()
	result, err := hook.Do(ctx, e.call(name), func(ctx context.Context) (ToolResult, error) {
		return caller.CallTool(ctx, name, raw)
	})
	step := e.toolStep(name, began, &result, err)
	h.recordCall(ctx, e, Traffic{Kind: ToolTraffic, Name: name, Input: raw, Err: err, Began: began}, newToolTraffic(&result))
	if err != nil {
		return nil, step, err
	}
	return &result, step, nil
}

// toolStep describes a call of a tool that began at a time and has just ended. A tool has no
// verdict: the step says continue.
func (e *entry) toolStep(name string, began time.Time, r *ToolResult, err error) *hook.Step {
	s := &hook.Step{Plugin: e.info.Name, Dialect: e.found.Dialect, Hook: name, Verdict: hook.Continue,
		Started: began, Duration: time.Since(began), Sent: r.Sent, Received: r.Received}
	if failure, ok := errors.AsType[*hook.Error](err); ok {
		s.Err = failure
	}
	if e.policy != nil {
		s.Notes = e.denials.take()
	}
	return s
}

// use returns a plugin that can be called. The caller calls leave when it has called the plugin.
func (h *Host) use(plugin string) (e *entry, leave func(), err error) {
	if h.isClosed() {
		return nil, nil, ErrClosed
	}
	r := h.enter()
	e, err = r.find(plugin)
	if err == nil && e.plugin == nil {
		err = e.unavailable()
	}
	if err != nil {
		r.leave()
		return nil, nil, err
	}
	return e, r.leave, nil
}

// CallMethod calls one of a plugin's own JSON-RPC methods.
func (h *Host) CallMethod(ctx context.Context, plugin, method string, params any) (json.RawMessage, error) {
	e, leave, err := h.use(plugin)
	if err != nil {
		return nil, err
	}
	defer leave()
	caller, ok := e.plugin.(dialect.MethodCaller)
	if !ok {
		return nil, fmt.Errorf("plugin %s: method %s: %w: %s plugins have no methods of their own", e.info.Name, method, ErrNotFound, e.found.Dialect)
	}
	raw, err := encodeObject(params)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %s: params: %w", plugin, method, err)
	}
	began := time.Now()
	result, err := hook.Do(ctx, e.call(method), func(ctx context.Context) (json.RawMessage, error) {
		return caller.CallMethod(ctx, method, raw)
	})
	h.recordCall(ctx, e, Traffic{Kind: MethodTraffic, Name: method, Input: raw, Err: err, Began: began}, result)
	return result, err
}

// CheckConfig returns what is wrong with a config for a plugin, without using it. If the plugin
// cannot check configs, it returns nil.
func (h *Host) CheckConfig(ctx context.Context, plugin string, config json.RawMessage) error {
	e, leave, err := h.use(plugin)
	if err != nil {
		return err
	}
	defer leave()
	if checker, ok := e.plugin.(dialect.ConfigChecker); ok {
		return checker.CheckConfig(ctx, config)
	}
	return nil
}

// A Command is one run of a plugin's own command.
type Command = dialect.Command

// RunCommand runs one of a plugin's own commands. It passes the arguments unchanged and the output
// as it arrives. Only ctx limits its time. The code is the plugin's exit code.
func (h *Host) RunCommand(ctx context.Context, plugin string, c Command) (code int, err error) {
	e, leave, err := h.use(plugin)
	if err != nil {
		return 0, err
	}
	defer leave()
	commander, ok := e.plugin.(dialect.Commander)
	if !ok || !slices.Contains(e.info.Commands, c.Name) {
		return 0, dialect.WithFix(fmt.Errorf("plugin %s: command %s: %w", plugin, c.Name, ErrNotFound), dialect.Meant(c.Name, e.info.Commands))
	}
	call := e.call(c.Name)
	call.Timeout = 0
	run := func(ctx context.Context) (int, error) { return commander.RunCommand(ctx, c) }
	if !h.records() {
		return hook.Do(ctx, call, run)
	}
	c, output := tapped(c)
	began := time.Now()
	code, err = hook.Do(ctx, call, run)
	args, encodeErr := encode(orEmpty(c.Args))
	h.recordCall(ctx, e, Traffic{Kind: CommandTraffic, Name: c.Name, Input: args, Err: errors.Join(err, encodeErr), Began: began}, output(code))
	return code, err
}

// Close closes all plugins at once, each in the way of its protocol, and returns when no process of
// the host is left. It ends a refresh or reload in progress, which may be waiting for a plugin that
// starts slowly. It may be called more than once.
func (h *Host) Close() error { return h.CloseWith(func() {}) }

// CloseWith is [Host.Close]. At the same time it calls others, which closes the hosts that
// [Host.In] made from this one. When both have ended, it ends the processes that are left.
func (h *Host) CloseWith(others func()) error {
	var err error
	h.closing.Do(func() {
		close(h.closed)
		var beside sync.WaitGroup
		beside.Go(others)
		h.renewals.close()
		h.refreshMu.Lock() // wait until a refresh in progress has closed the plugins that it started
		defer h.refreshMu.Unlock()
		h.retiring.Wait() // they do not wait for events any longer, because h.closed is closed
		err = h.shutdown()
		beside.Wait()
		if !h.setup().guest {
			err = errors.Join(err, h.procs.Close())
		}
	})
	return err
}

// shutdown closes the plugins.
func (h *Host) shutdown() error {
	entries := h.roster().entries
	busy := !h.setup().guest || h.roster().uses.Load() > 0 // otherwise the pending calls are those of other projects
	errs := make([]error, len(entries))                    // each goroutine owns one element
	watch := h.stopWatch(entries)
	var closing sync.WaitGroup
	for i, e := range entries {
		if e.plugin != nil {
			if n := e.tally.Pending.Load(); n > 0 && busy {
				h.setup().Logger.Warn("the plugin is closed while calls to it are pending", "plugin", e.info.Name, "dialect", e.found.Dialect, "calls", n)
			}
			closing.Go(func() {
				defer watch.begin(e)()
				errs[i] = e.end()
			})
		}
	}
	closing.Wait()
	return errors.Join(errs...)
}

// stopWatch reports the progress of stopping the plugins. The host of another project, which is
// closed when it is no longer used, reports nothing: no command waits for that.
func (h *Host) stopWatch(entries []*entry) *startWatch {
	watch := &startWatch{tell: h.setup().OnStopping}
	if h.setup().guest {
		watch.tell = nil
	}
	for _, e := range entries {
		if e.plugin != nil {
			watch.now.All++
		}
	}
	return watch
}

// end closes a plugin. It does not use the caller's context: a cancelled caller must not interrupt
// a plugin's last write. Each dialect limits the time of its own shutdown.
func (e *entry) end() error {
	e.tally.leave(e.plugin)
	return e.plugin.Close(context.Background())
}

func (h *Host) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// call describes a tool or method call for [hook.Do].
func (e *entry) call(name string) *hook.Call {
	return &hook.Call{Plugin: e.info.Name, Dialect: e.found.Dialect, Name: name,
		Timeout: cmp.Or(e.settings.ToolTimeout, dialect.DefaultToolTimeout), Counters: &e.tally.Counters}
}

// encode returns v as JSON, without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	}
	return rawjson.Marshal(v)
}

// encodeObject is encode for arguments. nil becomes an empty object. A value that is not an object
// is an error.
func encodeObject(v any) (json.RawMessage, error) {
	raw, err := encode(v)
	if err != nil || len(raw) == 0 {
		return json.RawMessage("{}"), err
	}
	object, err := rawjson.Parse(raw)
	if err != nil {
		return nil, err
	}
	return object.JSON(), nil
}
