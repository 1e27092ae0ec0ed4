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

// A Process is the environment of a plugin: Main takes it from the operating system, and tests
// provide their own.
type Process struct {
	Program string   // the path by which it was started
	Args    []string // without the program
	Env     func(name string) string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	direct func() // gives os.Stdout back to the program; nil: it was not redirected
}

// A session is one run of a plugin: one process, in one dialect.
type session struct {
	plugin  *Plugin
	process Process
	dialect Dialect
	out     writer
	stderr  *held
	store   store
	ask     func(ctx context.Context, method string, params any) ([]byte, error) // sends a request to the host; nil: not possible
	tell    func(method string, params any) error                                // sends a notification to the host; nil: not possible
	begun   atomic.Bool                                                          // Start was called, and Stop was not
	running atomic.Int32                                                         // running handlers
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

// begin prepares the plugin for its first handler. config is nil if the dialect has none.
func (s *session) begin(ctx context.Context, config, secrets []byte) error {
	if err := errors.Join(s.configure(config), s.fillSecrets(secrets)); err != nil {
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

// end calls the plugin's Stop functions.
func (s *session) end(ctx context.Context) {
	if !s.begun.CompareAndSwap(true, false) {
		return // a signal and the end of stdin may come at the same time
	}
	for _, run := range s.plugin.stop {
		if err := s.guarded(context.WithoutCancel(ctx), "Stop", run); err != nil {
			s.plugin.log.Error("stop failed", "error", err)
		}
	}
}

// guarded calls a function of the plugin's author. A panic is an error.
func (s *session) guarded(ctx context.Context, what string, run func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.plugin.panicked(what, r)
		}
	}()
	return run(ctx)
}

// healthy returns the plugin's health.
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

// held is stderr. A host of mine recognizes an error object only if stderr has nothing else. So the
// log of a mine hook is held until the hook has ended.
type held struct {
	mu      sync.Mutex // protects the fields below, and writes to w
	w       io.Writer
	holding bool
	text    bytes.Buffer
}

// mostHeld is the size at which a held log is written.
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

// flush writes the held log, and holds nothing from now on.
func (h *held) flush() error {
	h.holding = false
	_, err := h.text.WriteTo(h.w)
	return err
}

// release is flush for callers that do not hold the lock.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.flush() // if stderr is closed, it has no reader
}

// take returns the held log and clears it.
func (h *held) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = false
	text := h.text.String()
	h.text.Reset()
	return text
}

// A logWriter writes to the stderr of the current session.
type logWriter struct{ plugin *Plugin }

func (w logWriter) Write(p []byte) (int, error) {
	if s := w.plugin.current.Load(); s != nil {
		return s.stderr.Write(p)
	}
	return os.Stderr.Write(p)
}

// untimed leaves the time out of log lines: hosts record it.
func untimed(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// A Call says for whom a handler runs, as far as the dialect says.
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

// From returns the call of a handler's context.
func From(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}

func with(ctx context.Context, c Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// Notification declares a notification of the plugin, such as "words.counted". It returns a
// function that sends it. kaged hosts get the notification; elsewhere it is a line of the log.
func (p *Plugin) Notification(name string) func(ctx context.Context, params any) error {
	if name == "" || contains(p.notifications, name) {
		p.fault("notification %q is empty or defined twice", name)
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
