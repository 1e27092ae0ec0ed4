package plugin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// A Process is what a plugin runs in: what Main takes from the operating system, and what tests
// make up.
type Process struct {
	Program string   // the path it was started by
	Args    []string // without it
	Env     func(name string) string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	direct func() // gives os.Stdout back to the program; nil: it was never taken
}

// A session is one run of a plugin: one process, in one dialect.
type session struct {
	plugin  *Plugin
	process Process
	dialect Dialect
	out     writer
	stderr  *held
	store   store
	ask     func(ctx context.Context, method string, params any) ([]byte, error) // asks the host; nil: it cannot be asked
	tell    func(method string, params any) error                                // notifies the host; the same
	begun   atomic.Bool                                                          // Start has run, and Stop has not
	running atomic.Int32                                                         // handlers at work
}

func newSession(p *Plugin, process Process) *session {
	if process.Env == nil {
		process.Env = func(string) string { return "" }
	}
	s := &session{plugin: p, process: process, out: writer{w: process.Stdout}, stderr: &held{w: process.Stderr}}
	if dir := s.inHome("XDG_DATA_HOME", ".local/share", p.name, "state"); dir != "" {
		s.store = files{dir}
	}
	return s
}

func (s *session) env(name string) string { return s.process.Env(name) }

// begin makes the plugin ready for its first handler. config is nil where the dialect has none.
func (s *session) begin(ctx context.Context, config, secrets []byte) error {
	if err := errors.Join(s.configure(config), s.confide(secrets)); err != nil {
		return err
	}
	s.begun.Store(true)
	for _, run := range s.plugin.start {
		if err := s.guarded(ctx, "Start", run); err != nil {
			return err
		}
	}
	return nil
}

// end lets the plugin tidy up.
func (s *session) end(ctx context.Context) {
	if !s.begun.CompareAndSwap(true, false) {
		return // a signal and the end of stdin may come at once
	}
	for _, run := range s.plugin.stop {
		if err := s.guarded(context.WithoutCancel(ctx), "Stop", run); err != nil {
			s.plugin.log.Error("stop failed", "error", err)
		}
	}
}

// guarded runs a function of the plugin's author. A panic is an error.
func (s *session) guarded(ctx context.Context, what string, run func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.plugin.panicked(what, r)
		}
	}()
	return run(ctx)
}

// healthy is what the plugin says about itself.
func (s *session) healthy(ctx context.Context) error {
	if s.plugin.health == nil {
		return nil
	}
	return s.guarded(ctx, "Health", s.plugin.health)
}

// A writer writes whole messages, one at a time.
type writer struct {
	mu sync.Mutex // protects w
	w  io.Writer
}

func (w *writer) line(message []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(append(message, '\n'))
	return err
}

// held is stderr. mine takes stderr for an error only where it is nothing else, so a mine hook's
// log is held back until it is known how the hook came out.
type held struct {
	mu      sync.Mutex // protects what follows, and writes to w
	w       io.Writer
	holding bool
	text    bytes.Buffer
}

// mostHeld is when a log is too long to be held back any longer.
const mostHeld = 64 << 10

func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holding {
		return h.w.Write(p)
	}
	h.text.Write(p)
	if h.text.Len() > mostHeld {
		return len(p), h.flush()
	}
	return len(p), nil
}

// flush writes what was held back, and holds nothing back from now on.
func (h *held) flush() error {
	h.holding = false
	_, err := h.text.WriteTo(h.w)
	return err
}

// release flushes; the caller does not hold the lock.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.flush() // a stderr that is gone has no reader
}

// take returns what was held back, and forgets it.
func (h *held) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = false
	text := h.text.String()
	h.text.Reset()
	return text
}

// A logWriter writes to the stderr of the session there is.
type logWriter struct{ plugin *Plugin }

func (w logWriter) Write(p []byte) (int, error) {
	if s := w.plugin.current.Load(); s != nil {
		return s.stderr.Write(p)
	}
	return os.Stderr.Write(p)
}

// untimed leaves the time out of log lines: hosts note when a line came.
func untimed(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// A Call says on whose behalf a handler runs, as far as the dialect tells.
type Call struct {
	Dialect     Dialect `json:"-"`
	SessionID   string  `json:"session_id"`
	ProjectID   string  `json:"project_id"`
	ProjectRoot string  `json:"project_root"`
	OperatorID  string  `json:"operator_id"`
	AgentPath   string  `json:"agent_path"`
	RequestID   string  `json:"request_id"`
}

type callKey struct{}

// From is the call that a handler's context belongs to.
func From(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}

func with(ctx context.Context, c Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// Notification declares something that the plugin says unasked, such as "words.counted". It returns
// how to say it: kaged hosts get the notification; elsewhere it is a line of the log.
func (p *Plugin) Notification(name string) func(ctx context.Context, params any) error {
	if name == "" || contains(p.notifications, name) {
		p.fault("notification %q is empty, or there are two of them", name)
	}
	p.notifications = append(p.notifications, name)
	return func(_ context.Context, params any) error {
		s := p.current.Load()
		switch {
		case s == nil:
			return errIdle
		case s.tell == nil:
			text, err := marshal(params)
			if err == nil {
				p.log.Info(name, "params", string(text))
			}
			return err
		}
		return s.tell(name, params)
	}
}
