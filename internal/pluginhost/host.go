package pluginhost

import (
	"bytes"
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

// ErrClosed is returned by calls to a host that was closed.
var ErrClosed = errors.New("the host is closed")

// ErrNotFound is returned for a plugin, tool or method that is not there.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is returned for a name that plugins of several dialects have. With the dialect
// before it, it means one of them.
var ErrAmbiguous = errors.New("several plugins have this name")

// A ToolResult is what a tool call came to.
type ToolResult = dialect.ToolResult

// A Tool is a function that a plugin offers.
type Tool = dialect.Tool

// A Host is a set of running plugins. It is safe for concurrent use.
type Host struct {
	current   atomic.Pointer[setup] // what the host works with; [Host.Reload] replaces it
	procs     *proc.Group
	tallies   *tallies
	guest     bool // processes and storage are another host's, which ends them
	bus       hook.Bus
	ownPoints map[hook.Point]*ownPoint    // those of the program; not changed once the host is open
	plugins   atomic.Pointer[roster]      // nil until the hooks are on the bus
	found     atomic.Pointer[foundPlaces] // of the last look
	turning   sync.Mutex                  // held while the roster is replaced, by Refresh and Close
	wireMu    sync.Mutex                  // held while its hooks are put on the bus
	warned    map[string]bool             // what was logged about names; protected by turning
	retired   chan struct{}               // closed when the plugins of the last roster that was replaced are; protected by turning

	retiring sync.WaitGroup // rosters that wait for their last event

	renewals renewals
	watching watchers

	system func() *sandbox.System // what can be enforced here; found out when it is first asked

	closing sync.Once
	closed  chan struct{} // closed when Close begins
}

// A roster is the plugins of a host at one moment. Once in use it is not changed: [Host.Refresh]
// puts another in its place.
type roster struct {
	entries []*entry          // every plugin that was found and is needed, in order
	names   census            // of all that were found
	closed  bool              // nobody but the entries is meant by a name: the caller named each of them
	tools   map[string]*entry // by the tool's full name
	kept    []keptEntry       // those of the entries that go on as they were, because their new files do not work

	uses    atomic.Int64  // events and calls under way that began with it
	retired atomic.Bool   // another one has taken its place
	idle    chan struct{} // has room for one: told when uses has come to zero, once it is retired
}

// An entry is one plugin that was found, and what became of it.
type entry struct {
	found    dialect.Found
	names    bearer
	own      sections // what the configuration says about it
	dialect  dialect.Dialect
	settings dialect.Settings
	plugin   dialect.Plugin // nil unless ready
	absent   dialect.Wiring // its hooks, all of which fail, where it is broken and they are known all the same
	info     dialect.Info   // as declared, then as opened
	state    dialect.State
	err      error  // why it is not ready
	leftOut  bool   // the log says so
	named    bool   // by the caller, with a path: a search does not find it
	hidden   string // of a project's plugin, the path of the user's own whose name it has; "": none has it
	trust    trust.Verdict
	stamp    stamp // of its files, when it was opened
	tally    *tally
	policy   *policy       // what it is held to; nil: nothing
	limits   config.Limits // what it was started with
	alone    bool          // no other plugin's place has the same name
	denials  denials       // what its sandbox refused it
	again    atomic.Bool   // it is to be opened anew
	odd      oddities      // what was found odd about it once it ran
	mounts   mounts        // what it sees of the file system
}

// Open finds plugins, starts them and returns when all are ready or have failed. A plugin that
// fails is no error: [Host.Plugins] has it, with the reason. The context bounds the opening, not
// the host's life.
func Open(ctx context.Context, opts *Options) (*Host, error) {
	s, err := opts.setup()
	if err != nil {
		return nil, err
	}
	h, err := newHost(s)
	if err != nil {
		return nil, err
	}
	h.procs, h.tallies, h.warned = proc.NewGroup(s.Logger), &tallies{}, make(map[string]bool)
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

// newHost is a host without plugins.
func newHost(s *setup) (*Host, error) {
	h := &Host{closed: make(chan struct{})}
	h.current.Store(s)
	h.bus.Failures = dialect.Failures
	return h, h.declare(s.Points)
}

// setup is what the host works with now.
func (h *Host) setup() *setup { return h.current.Load() }

// roster is who is there now; nobody, before the host is open.
func (h *Host) roster() *roster {
	if r := h.plugins.Load(); r != nil {
		return r
	}
	return &roster{}
}

// Fire takes one event through the plugins that hook its point. The payload is anything that
// encodes to a JSON object; a json.RawMessage passes through, and is not to be changed afterwards;
// nil is an empty object.
//
// A refusal is data, not an error: look at the outcome's Verdict. The error is not nil where the
// point does not exist, the payload is no object, the context ended, or a plugin failed whose
// failure aborts the event; the verdict is then [hook.Deny], so that a caller who only looks at the
// verdict stays safe.
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
		h.lookAgain(ctx)
	}
	defer h.enter().leave()
	began := time.Now()
	out, err := h.bus.Fire(ctx, point, raw)
	h.recordEvent(ctx, Traffic{Point: point, Payload: raw, Outcome: out, Err: err, Began: began})
	if out != nil && ctx.Err() == nil { // the failures of a caller who gave up are its own doing
		h.tell(out)
	}
	return out, err
}

// lookAgain lets plugins look at their files before a turn begins.
func (h *Host) lookAgain(ctx context.Context) {
	for _, e := range h.roster().entries {
		if p, ok := e.plugin.(dialect.Refresher); ok {
			p.Refresh(ctx)
		}
	}
}

// Wants tells whether any plugin would be asked at point with this payload. A host need not gather
// what nobody looks at.
func (h *Host) Wants(point hook.Point, payload any) bool {
	raw, err := encode(payload)
	return err == nil && h.bus.Wants(point, raw)
}

// Alters tells whether a plugin takes part at point, by what ctx says (see [hook.WithChoice]), that
// can change what becomes of the event. Plugins that are only told of it, such as a connected
// dotagent sink, do not count. A host that shows things as they come must hold back what such a
// plugin is still to see.
func (h *Host) Alters(ctx context.Context, point hook.Point) bool { return h.bus.Alters(ctx, point) }

// Listens tells whether any plugin is asked at point at all, whatever the payload. It costs nothing
// where the payload is a long one.
func (h *Host) Listens(ctx context.Context, point hook.Point) bool { return h.bus.Listens(ctx, point) }

// Closed names the plugins without which an event at point does not go on: see [hook.Bus.Closed].
func (h *Host) Closed(point hook.Point) []string { return h.bus.Closed(point) }

// CallTool calls a plugin's tool by its full name. The arguments are anything that encodes to a
// JSON object, as for [Host.Fire]. A tool that ran and failed is a result with Success false; the
// error is for calls that had no answer.
func (h *Host) CallTool(ctx context.Context, name string, args any) (*ToolResult, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	r := h.enter()
	defer r.leave()
	e := r.toolOwner(name)
	if e == nil {
		return nil, h.noTool(name)
	}
	raw, err := encodeObject(args)
	if err != nil {
		return nil, fmt.Errorf("tool %s: arguments: %w", name, err)
	}
	caller := e.plugin.(dialect.ToolCaller) // wire saw to that
	began := time.Now()
	result, err := hook.Do(ctx, e.call(name), func(ctx context.Context) (ToolResult, error) {
		return caller.CallTool(ctx, name, raw)
	})
	h.recordCall(ctx, e, Traffic{Kind: ToolTraffic, Name: name, Input: raw, Err: err, Began: began}, newToolTraffic(&result))
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// CallMethod calls one of a plugin's own JSON-RPC methods.
func (h *Host) CallMethod(ctx context.Context, plugin, method string, params any) (json.RawMessage, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	defer h.enter().leave()
	e, err := h.find(plugin)
	if err != nil {
		return nil, err
	}
	if e.plugin == nil {
		return nil, e.unavailable()
	}
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

// CheckConfig tells what is wrong with a configuration for a plugin, without using it. A plugin
// that cannot tell takes anything.
func (h *Host) CheckConfig(ctx context.Context, plugin string, config json.RawMessage) error {
	if h.isClosed() {
		return ErrClosed
	}
	defer h.enter().leave()
	e, err := h.find(plugin)
	if err != nil {
		return err
	}
	if e.plugin == nil {
		return e.unavailable()
	}
	if checker, ok := e.plugin.(dialect.ConfigChecker); ok {
		return checker.CheckConfig(ctx, config)
	}
	return nil
}

// A Command is one run of a plugin's own command.
type Command = dialect.Command

// RunCommand runs one of a plugin's own commands, its arguments untouched, its output passed on as
// it comes. It has no deadline but the context's. The code is the plugin's exit code.
func (h *Host) RunCommand(ctx context.Context, plugin string, c Command) (code int, err error) {
	if h.isClosed() {
		return 0, ErrClosed
	}
	defer h.enter().leave()
	e, err := h.find(plugin)
	if err != nil {
		return 0, err
	}
	if e.plugin == nil {
		return 0, e.unavailable()
	}
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

// Close ends every plugin in its protocol's way, all at once, and returns when no process of the
// host is left. It may be called more than once.
func (h *Host) Close() error {
	var err error
	h.closing.Do(func() {
		close(h.closed)
		h.renewals.all.Wait() // each ends when the host is closed
		h.turning.Lock()      // a refresh under way ends first, so that nobody is left out
		defer h.turning.Unlock()
		h.retiring.Wait() // they no longer wait for events
		err = h.shutdown()
	})
	return err
}

func (h *Host) shutdown() error {
	entries := h.roster().entries
	errs := make([]error, len(entries), len(entries)+1) // each goroutine owns one element
	var farewells sync.WaitGroup
	for i, e := range entries {
		if e.plugin != nil {
			if n := e.tally.Pending.Load(); n > 0 {
				h.setup().Logger.Warn("the plugin is closed while calls to it are pending", "plugin", e.info.Name, "dialect", e.found.Dialect, "calls", n)
			}
			farewells.Go(func() { errs[i] = e.end() })
		}
	}
	farewells.Wait()
	if !h.guest {
		errs = append(errs, h.procs.Close())
	}
	return errors.Join(errs...)
}

// end closes a plugin. It has no caller's context: a caller that is cancelled must not cut short a
// plugin's last write. Each dialect bounds its own farewell.
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

// call names a tool or method call for the one place that makes them.
func (e *entry) call(name string) *hook.Call {
	return &hook.Call{Plugin: e.info.Name, Dialect: e.found.Dialect, Name: name,
		Timeout: cmp.Or(e.settings.ToolTimeout, dialect.DefaultToolTimeout), Counters: &e.tally.Counters}
}

// encode turns what a caller gave into JSON without escaping what need not be.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// encodeObject is encode for arguments: nothing at all is an empty object, and anything but an
// object is an error.
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
