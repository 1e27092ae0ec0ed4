package python

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig is a home directory with plugins, and a bus on which they are registered.
type rig struct {
	t       testing.TB
	home    string
	dialect *Dialect
	rt      *dialect.Runtime
	log     *plugtest.Log
	bus     hook.Bus
	plugins []dialect.Plugin
	errs    map[string]error // why a plugin could not be opened, by name
}

func newRig(t testing.TB) *rig {
	t.Helper()
	plugtest.NeedTool(t, "python3")
	s := &rig{t: t, home: t.TempDir(), dialect: New(), log: &plugtest.Log{}, errs: make(map[string]error)}
	s.dialect.restartWait = time.Minute // a busy machine starts an interpreter slowly
	s.bus.Failures = dialect.Failures
	s.rt = &dialect.Runtime{
		Procs: proc.NewGroup(nil), Dir: s.home, HostVersion: "test",
		Env: dialect.Env{Vars: []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}},
	}
	t.Cleanup(s.close)
	return s
}

// write installs a plugin.
func (s *rig) write(name, text string) (path string) {
	s.t.Helper()
	path = filepath.Join(s.home, ".agent", "plugins", name+".py")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	draft := path + ".draft" // so that a check of the file never sees half of it
	if err := os.WriteFile(draft, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(draft, path); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// open opens every plugin that Find lists, and registers the hooks of those that work.
func (s *rig) open(settings dialect.Settings) *rig {
	s.t.Helper()
	return s.openEach(func(string) dialect.Settings { return settings })
}

// openEach opens every plugin with settings of its own.
func (s *rig) openEach(settings func(name string) dialect.Settings) *rig {
	s.t.Helper()
	for _, f := range s.dialect.Find(s.rt.Env) {
		p, err := s.dialect.Open(s.t.Context(), f, settings(f.Name), s.runtime(f.Name))
		if err != nil {
			s.errs[f.Name] = err
			continue
		}
		s.plugins = append(s.plugins, p)
	}
	s.register()
	return s
}

// runtime returns the host's runtime, with a log of the plugin's own.
func (s *rig) runtime(name string) *dialect.Runtime {
	rt := *s.rt
	rt.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})).With("plugin", name)
	return &rt
}

func (s *rig) register() {
	s.t.Helper()
	var hooks []hook.Hook
	for i, p := range s.plugins {
		for _, h := range p.Hooks() {
			hooks = append(hooks, s.placed(h, p, i))
		}
	}
	if err := s.bus.Set(hooks); err != nil {
		s.t.Fatal(err)
	}
}

// placed sets what a host sets in a hook.
func (s *rig) placed(h hook.Hook, p dialect.Plugin, position int) hook.Hook {
	h.Plugin, h.Dialect, h.Position, h.Priority = p.Info().Name, Name, position, p.Info().Priority
	return h
}

// connect connects one hook of the first plugin to a point, in addition to its own.
func (s *rig) connect(name string, point hook.Point) {
	s.t.Helper()
	h, err := s.plugins[0].(dialect.Connector).Connect(name, point)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.bus.Set([]hook.Hook{s.placed(h, s.plugins[0], 0)}); err != nil {
		s.t.Fatal(err)
	}
}

// only opens a rig with one plugin.
func only(t testing.TB, text string) *rig {
	t.Helper()
	s := newRig(t)
	s.write("only", text)
	s.open(dialect.Settings{})
	if err := s.errs["only"]; err != nil {
		t.Fatal(err)
	}
	return s
}

// fire sends one event of a request through the plugins.
func (s *rig) fire(request string, p hook.Point, payload string) *hook.Outcome {
	s.t.Helper()
	out, err := s.bus.Fire(hook.WithRequest(s.t.Context(), request), p, json.RawMessage(payload))
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// final returns the text after turn.final.
func (s *rig) final(request, text string) string {
	s.t.Helper()
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		s.t.Fatal(err)
	}
	return field(s.t, s.fire(request, hook.TurnFinal, string(raw)), "text")
}

func field(t testing.TB, out *hook.Outcome, name string) string {
	t.Helper()
	var payload map[string]any
	if err := json.Unmarshal(out.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	text, _ := payload[name].(string)
	return text
}

// logged waits until the log has a line with all of these parts.
func (s *rig) logged(parts ...string) {
	s.t.Helper()
	s.eventually("a line in the log with "+strings.Join(parts, " and "), func() bool {
		for line := range strings.Lines(s.log.String()) {
			if containsAll(line, parts) {
				return true
			}
		}
		return false
	})
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// eventually polls a condition for a bounded time.
func (s *rig) eventually(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	s.t.Errorf("timed out waiting for %s", what)
}

func (s *rig) close() {
	for _, p := range s.plugins {
		if err := p.Close(context.Background()); err != nil {
			s.t.Errorf("close: %v", err)
		}
	}
	if len(s.dialect.runners) > 0 {
		s.t.Error("an interpreter is left when all plugins are closed")
	}
	if err := s.rt.Procs.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	if s.t.Failed() {
		s.t.Logf("log:\n%s", s.log)
	}
}

// step returns the step of the only plugin that was called.
func step(t testing.TB, out *hook.Outcome) *hook.Step {
	t.Helper()
	if len(out.Steps) != 1 {
		t.Fatalf("%d steps", len(out.Steps))
	}
	return &out.Steps[0]
}

func wantKind(t testing.TB, out *hook.Outcome, kind hook.Kind, parts ...string) {
	t.Helper()
	err := step(t, out).Err
	if err == nil || !errors.Is(err, kind) || !containsAll(err.Error(), parts) {
		t.Errorf("error %v, want kind %s with %q", err, kind, parts)
	}
}
