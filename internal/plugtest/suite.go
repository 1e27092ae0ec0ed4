package plugtest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A Suite tests a long-lived dialect with plugins that misbehave. A dialect fills it in and calls
// Run.
type Suite struct {
	Dialect dialect.Dialect
	// Install installs fakes of these behaviours where the dialect finds them, below home.
	Install func(t *testing.T, home string, behaviours ...string)
	// Point is the point of the fakes' target hook; it is fired with this payload.
	Point   hook.Point
	Payload string
	// Works reports from the payload after the event whether the named plugin took part.
	Works func(payload json.RawMessage, plugin string) bool
	// Differs lists where a dialect's rules differ from the usual ones.
	Differs map[string]hook.Kind
}

// usual lists the kind of failure of each misbehaviour. An empty kind: the call works.
var usual = map[string]hook.Kind{
	"ok": "", "interleaved": "", "notify": "", "request": "", "slow-line": "", "reply-twice": "", "stderr-flood": "",
	"banner": "", "ignore-sigterm": "", "no-newline": "",
	"hang": hook.Timeout, "late-reply": hook.Timeout, "bad-json": hook.Timeout,
	"no-result": hook.Garbled, "wrong-type": hook.Garbled,
	"huge":      hook.TooLarge,
	"half-line": hook.Crash, "crash": hook.Crash, "kill-self": hook.Crash, "fork-and-exit": hook.Crash, "close-stdout": hook.Crash,
	"error": hook.Refused, "wrong-id": hook.Timeout,
}

// Run plays every misbehaviour beside a plugin that behaves. The host goes on answering, the error
// names plugin, point and kind, and the faulty plugin works again afterwards.
func (s *Suite) Run(t *testing.T) {
	for behaviour, kind := range usual {
		if own, ok := s.Differs[behaviour]; ok {
			kind = own
		}
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			s.one(t, behaviour, kind)
		})
	}
	for _, behaviour := range []string{"exit-at-start", "hang-at-start", "garbage-at-start"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			s.left(t, behaviour)
		})
	}
}

// one plays a misbehaviour in a call.
func (s *Suite) one(t *testing.T, behaviour string, kind hook.Kind) {
	b := s.Open(t, behaviour, "well")
	b.deadlines = map[string]time.Duration{fakePrefix + "well": busy, fakePrefix + behaviour: busy}
	if kind == hook.Timeout {
		b.deadlines[fakePrefix+behaviour] = time.Second
	}
	out := b.Fire(t, s.Point, s.Payload)
	if !s.Works(out.Payload, fakePrefix+"well") {
		t.Errorf("the plugin beside it did not take part: %s", out.Payload)
	}
	b.checkStep(t, out, fakePrefix+behaviour, kind)
	if kind == "" && !s.Works(out.Payload, fakePrefix+behaviour) {
		t.Errorf("the misbehaving plugin did not take part: %s", out.Payload)
	}
	b.recovers(t, s, fakePrefix+behaviour)
}

// left plays a plugin that never reaches a call.
func (s *Suite) left(t *testing.T, behaviour string) {
	b := s.Open(t, behaviour, "well")
	if err := b.Errs[fakePrefix+behaviour]; err == nil {
		t.Errorf("%s was opened", behaviour)
	}
	out := b.Fire(t, s.Point, s.Payload)
	if !s.Works(out.Payload, fakePrefix+"well") || len(out.Steps) != 1 {
		t.Errorf("the plugin beside it did not work alone: %s, %d steps", out.Payload, len(out.Steps))
	}
}

// A Bench is a set of opened plugins on their own bus.
type Bench struct {
	Plugins   []dialect.Plugin
	Errs      map[string]error // why a plugin could not be opened, by file name
	Log       *Log
	deadlines map[string]time.Duration // of calls, by plugin; without one its own applies
}

// busy is long enough for everything that must happen, also on a busy machine.
const busy = time.Minute

// Open installs fakes, opens them in parallel, and closes them at the end of the test.
func (s *Suite) Open(t *testing.T, behaviours ...string) *Bench {
	t.Helper()
	home := t.TempDir()
	s.Install(t, home, behaviours...)
	return OpenAll(t, s.Dialect, home)
}

// OpenAll opens every plugin that the dialect finds below home.
func OpenAll(t *testing.T, d dialect.Dialect, home string) *Bench {
	t.Helper()
	b := &Bench{Errs: make(map[string]error), Log: &Log{}}
	rt := newRuntime(home, b.Log)
	for _, f := range d.Find(rt.Env) {
		b.open(t, d, f, rt)
	}
	t.Cleanup(func() { b.close(t, rt.Procs) })
	return b
}

// Runtime returns a host for the plugins below home; its processes end with the test.
func Runtime(t *testing.T, home string) *dialect.Runtime {
	rt := newRuntime(home, &Log{})
	t.Cleanup(func() {
		if err := rt.Procs.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return rt
}

func newRuntime(home string, log *Log) *dialect.Runtime {
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return &dialect.Runtime{
		Procs: proc.NewGroup(logger), Log: logger, Dir: home,
		Env:         dialect.Env{Vars: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}},
		Settings:    func(string) (dialect.Settings, error) { return dialect.Settings{}, nil },
		HostVersion: "test", ProjectRoot: home, ProjectID: "test",
	}
}

func (b *Bench) open(t *testing.T, d dialect.Dialect, f dialect.Found, rt *dialect.Runtime) {
	if f.State != "" {
		b.Errs[f.Name] = f.Err
		return
	}
	p, err := d.Open(t.Context(), f, dialect.Settings{}, rt)
	if err != nil {
		b.Errs[f.Name] = err
		return
	}
	b.Plugins = append(b.Plugins, p)
}

func (b *Bench) close(t *testing.T, procs *proc.Group) {
	for _, p := range b.Plugins {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close %s: %v", p.Info().Name, err)
		}
	}
	if err := procs.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if t.Failed() {
		t.Logf("log:\n%s", b.Log)
	}
}

// Fire fires one event.
func (b *Bench) Fire(t *testing.T, p hook.Point, payload string) *hook.Outcome {
	t.Helper()
	var hooks []hook.Hook
	for i, plugin := range b.Plugins {
		for _, h := range plugin.Hooks() {
			h.Plugin, h.Position, h.Priority = plugin.Info().Name, i, plugin.Info().Priority
			if d := b.deadlines[h.Plugin]; d > 0 {
				h.Timeout = d
			}
			hooks = append(hooks, h)
		}
	}
	out, err := Fire(t, p, payload, hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Fire fires one event through some hooks, on their own bus.
func Fire(t *testing.T, p hook.Point, payload string, hooks ...hook.Hook) (*hook.Outcome, error) {
	t.Helper()
	bus := hook.Bus{Failures: dialect.Failures}
	if err := bus.Set(hooks); err != nil {
		t.Fatal(err)
	}
	return bus.Fire(t.Context(), p, json.RawMessage(payload))
}

// checkStep checks that a plugin's step has the expected kind of failure.
func (b *Bench) checkStep(t *testing.T, out *hook.Outcome, plugin string, kind hook.Kind) {
	t.Helper()
	for i := range out.Steps {
		s := &out.Steps[i]
		switch {
		case s.Plugin != plugin:
		case kind == "" && s.Err != nil:
			t.Errorf("failed: %v", s.Err)
		case kind != "" && !errors.Is(s.Err, kind):
			t.Errorf("error %v, want kind %s", s.Err, kind)
		case kind != "" && (!strings.Contains(s.Err.Error(), plugin) || !strings.Contains(s.Err.Error(), string(out.Point))):
			t.Errorf("the error does not name plugin and point: %v", s.Err)
		}
	}
}

// recovers waits until the plugin takes part again: at once if it is still alive, after a restart
// if it died.
func (b *Bench) recovers(t *testing.T, s *Suite, plugin string) {
	t.Helper()
	b.deadlines = nil
	var out *hook.Outcome
	for end := time.Now().Add(busy); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		out = b.Fire(t, s.Point, s.Payload)
		if s.Works(out.Payload, plugin) {
			return
		}
	}
	t.Errorf("the misbehaving plugin does not work again: %s, %v", out.Payload, out.Steps)
}
