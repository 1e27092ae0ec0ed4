package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A TrafficKind says what went through the plugins.
type TrafficKind string

// The kinds of traffic.
const (
	EventTraffic   TrafficKind = "event"   // an event at a point
	ToolTraffic    TrafficKind = "tool"    // a call of a tool
	MethodTraffic  TrafficKind = "method"  // a call of one of a plugin's own methods
	CommandTraffic TrafficKind = "command" // a run of one of a plugin's own commands
)

// Traffic is one event, or one call, that went through the plugins of a host: what [Options.Record]
// is told.
type Traffic struct {
	Host    *Host
	Kind    TrafficKind
	Session string // the caller's, see [hook.WithSession]
	Request string // see [hook.WithRequest]
	Began   time.Time
	Took    time.Duration
	Err     error // what the caller got

	Point   hook.Point      // of an event
	Payload json.RawMessage // of an event, before the first plugin saw it
	Outcome *hook.Outcome   // of an event

	Plugin  string // whose tool, method or command it is
	Dialect string
	Name    string          // of the tool, method or command
	Input   json.RawMessage // arguments of the tool, params of the method; a list of texts for a command
	Result  json.RawMessage // what came back; nil beside an error
}

// Dir is where the host's plugins work.
func (h *Host) Dir() string { return h.setup().Dir }

// Home is the home directory that the host's plugins are found in.
func (h *Host) Home() string { return h.setup().dirs.Home }

// records tells whether somebody wants to know what goes through the plugins.
func (h *Host) records() bool { return h.setup().Record != nil }

// recordEvent tells of an event. One about which no plugin was asked is no traffic.
func (h *Host) recordEvent(ctx context.Context, t Traffic) {
	if !h.records() || t.Outcome == nil || len(t.Outcome.Steps) == 0 {
		return
	}
	t.Kind = EventTraffic
	h.record(ctx, &t)
}

// recordCall tells of a call to one plugin.
func (h *Host) recordCall(ctx context.Context, e *entry, t Traffic, result any) {
	if !h.records() {
		return
	}
	t.Plugin, t.Dialect = e.info.Name, e.found.Dialect
	if t.Err == nil {
		var err error
		if t.Result, err = encode(result); err != nil {
			t.Err = fmt.Errorf("result: %w", err)
		}
	}
	h.record(ctx, &t)
}

func (h *Host) record(ctx context.Context, t *Traffic) {
	t.Host, t.Took = h, time.Since(t.Began)
	t.Session, t.Request = hook.Session(ctx), hook.Request(ctx)
	h.setup().Record(t)
}

// toolTraffic is the result of a tool as it is recorded.
type toolTraffic struct {
	Success bool            `json:"success"`
	Result  string          `json:"result"`
	Error   string          `json:"error,omitempty"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	Pending bool            `json:"pending,omitempty"`
}

func newToolTraffic(r *ToolResult) toolTraffic {
	return toolTraffic{Success: r.Success, Result: r.Result, Error: r.Error, Raw: r.Raw, Pending: r.Pending}
}

// A commandTraffic is the result of a command as it is recorded.
type commandTraffic struct {
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Note     string `json:"note,omitempty"` // why the output is not here, or not all of it
}

// maxCommandOutput is how much of a stream of a command's output is recorded.
const maxCommandOutput = 1 << 20

// A tap keeps the first bytes of what passes to a stream.
type tap struct {
	to   io.Writer
	kept bytes.Buffer
	cut  bool
}

// keep keeps what there is room for.
func (t *tap) keep(p []byte) {
	room := maxCommandOutput - t.kept.Len()
	t.cut = t.cut || len(p) > room
	t.kept.Write(p[:min(len(p), max(room, 0))])
}

func (t *tap) Write(p []byte) (int, error) {
	t.keep(p)
	if t.to == nil {
		return len(p), nil
	}
	return t.to.Write(p)
}

// tapped is a command whose output is kept as it passes, and what was kept.
func tapped(c Command) (Command, func(code int) commandTraffic) {
	if c.Terminal != nil {
		return c, func(code int) commandTraffic {
			return commandTraffic{ExitCode: code, Note: "it had the terminal for itself: its output is not recorded"}
		}
	}
	out, errOut := &tap{to: c.Out}, &tap{to: c.ErrOut}
	c.Out, c.ErrOut = out, errOut
	if tell := c.Failed; tell != nil { // it is recorded where it would have been printed
		c.Failed = func(message string) {
			errOut.keep([]byte(message + "\n"))
			tell(message)
		}
	}
	return c, func(code int) commandTraffic {
		t := commandTraffic{ExitCode: code, Stdout: out.kept.String(), Stderr: errOut.kept.String()}
		if out.cut || errOut.cut {
			t.Note = fmt.Sprintf("cut after %d KiB", maxCommandOutput>>10)
		}
		return t
	}
}

// Ask takes a recorded event to one plugin's hook again: the nth of that name at the point, counted
// from 0. It returns [ErrNotFound] where the plugin has no such hook.
func (h *Host) Ask(ctx context.Context, w Which, payload json.RawMessage) (*hook.Outcome, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	if w.Point == hook.TurnBegin {
		h.lookAgain(ctx)
	}
	defer h.enter().leave()
	n := 0
	for _, hk := range h.bus.Hooks(w.Point) {
		if hk.Plugin != w.Plugin || hk.Dialect != w.Dialect || hk.Name != w.Hook {
			continue
		}
		if n == w.Nth {
			return h.bus.Ask(ctx, hk, payload)
		}
		n++
	}
	return nil, fmt.Errorf("plugin %s (%s): hook %s at %s: %w", w.Plugin, w.Dialect, w.Hook, w.Point, ErrNotFound)
}

// Which names one hook of one plugin.
type Which struct {
	Point   hook.Point
	Plugin  string
	Dialect string
	Hook    string
	Nth     int // among hooks of the plugin that have the same name at the point
}
