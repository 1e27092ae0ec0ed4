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

// A TrafficKind says what was sent to a plugin.
type TrafficKind string

// The kinds of traffic.
const (
	EventTraffic   TrafficKind = "event"   // an event at a point
	ToolTraffic    TrafficKind = "tool"    // a call of a tool
	MethodTraffic  TrafficKind = "method"  // a call of one of a plugin's own methods
	CommandTraffic TrafficKind = "command" // a run of one of a plugin's own commands
)

// Traffic describes one event or call that was sent to the plugins of a host. [Options.Record]
// receives it.
type Traffic struct {
	Host    *Host
	Kind    TrafficKind
	Session string // the caller's: see [hook.WithSession]
	Request string // see [hook.WithRequest]
	Began   time.Time
	Took    time.Duration
	Err     error // the error that the caller received

	Point   hook.Point      // of an event
	Payload json.RawMessage // of an event, before the first plugin changed it
	Outcome *hook.Outcome   // of an event

	Plugin  string // the owner of the tool, method or command
	Dialect string
	Name    string          // of the tool, method or command
	Input   json.RawMessage // arguments of the tool, params of the method; a list of texts for a command
	Result  json.RawMessage // nil if there was an error
}

// Dir returns the working directory of the host's plugins.
func (h *Host) Dir() string { return h.setup().Dir }

// Home returns the home directory in which the host's plugins are found.
func (h *Host) Home() string { return h.setup().dirs.Home }

// records reports whether a recorder is set.
func (h *Host) records() bool { return h.setup().Record != nil }

// recordEvent records an event, if any plugin was called.
func (h *Host) recordEvent(ctx context.Context, t Traffic) {
	if !h.records() || t.Outcome == nil || len(t.Outcome.Steps) == 0 {
		return
	}
	recorded := t // t itself would be allocated for every event, recorded or not
	recorded.Kind, recorded.Began = EventTraffic, t.Outcome.Began()
	h.record(ctx, &recorded)
}

// recordCall records a call to one plugin.
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
	recorded := t // as in recordEvent
	h.record(ctx, &recorded)
}

func (h *Host) record(ctx context.Context, t *Traffic) {
	t.Host, t.Took = h, time.Since(t.Began)
	t.Session, t.Request = hook.Session(ctx), hook.Request(ctx)
	h.setup().Record(t)
}

// toolTraffic is the recorded form of a tool's result.
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

// A commandTraffic is the recorded form of a command's result.
type commandTraffic struct {
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Note     string `json:"note,omitempty"` // why the output is missing or cut
}

// maxCommandOutput limits how much of each output stream of a command is recorded.
const maxCommandOutput = 1 << 20

// A tap copies the first bytes that are written to a stream.
type tap struct {
	to   io.Writer
	kept bytes.Buffer
	cut  bool
}

// keep copies as much as there is room for.
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

// tapped returns a command whose output is copied, and a function that returns the copy.
func tapped(c Command) (Command, func(code int) commandTraffic) {
	if c.Terminal != nil {
		return c, func(code int) commandTraffic {
			return commandTraffic{ExitCode: code, Note: "it used the terminal directly: its output is not recorded"}
		}
	}
	out, errOut := &tap{to: c.Out}, &tap{to: c.ErrOut}
	c.Out, c.ErrOut = out, errOut
	if tell := c.Failed; tell != nil { // a message is recorded with the stream on which it would be printed
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

// Ask sends a recorded event to one hook again: the hook w.Nth, counted from 0, among the plugin's
// hooks of that name at the point. It returns [ErrNotFound] if the plugin has no such hook.
func (h *Host) Ask(ctx context.Context, w Which, payload json.RawMessage) (*hook.Outcome, error) {
	if h.isClosed() {
		return nil, ErrClosed
	}
	if w.Point == hook.TurnBegin {
		h.checkFiles(ctx)
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

// Which identifies one hook of one plugin.
type Which struct {
	Point   hook.Point
	Plugin  string
	Dialect string
	Hook    string
	Nth     int // among the plugin's hooks with the same name at the point
}
