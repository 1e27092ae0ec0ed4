package mine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestLifecycle: init is sent when the plugin is opened and shutdown when it is closed, each once.
func TestLifecycle(t *testing.T) {
	r, p := openFake(t, "p")
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"protocol_version":"1.0.0","type":"lifecycle","event":"init"}` + "\n" + `{"protocol_version":"1.0.0","type":"lifecycle","event":"shutdown"}`
	if got := strings.Join(r.calls(), "\n"); got != want {
		t.Errorf("calls\n%s\nwant\n%s", got, want)
	}
}

// TestLifecycleIsBounded: a plugin that hangs in a lifecycle event is stopped, and delays neither
// Open nor, beyond its timeout, Close.
func TestLifecycleIsBounded(t *testing.T) {
	for _, behaviour := range []string{"slow-init", "slow-exit"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.dialect.lifecycle = 300 * time.Millisecond
			r.fake(behaviour, everyStage)
			p := r.open()[0]
			out := fired(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...)
			if !out.Steps[0].Changed {
				t.Errorf("step %+v", out.Steps[0])
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if log := r.log.String(); !strings.Contains(log, "not finished within 300ms") || !strings.Contains(log, "level=WARN") || !strings.Contains(log, "fix=") {
				t.Errorf("log\n%s", log)
			}
		})
	}
}

// TestHangingPluginDelaysTheExitOnce: a plugin that was too slow for init gets no shutdown, for
// which Close would wait a second time.
func TestHangingPluginDelaysTheExitOnce(t *testing.T) {
	r := newRig(t)
	r.dialect.lifecycle = 300 * time.Millisecond
	r.fake("slow-init", everyStage)
	p := r.open()[0]
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := r.log.String(); !strings.Contains(log, "event=init") {
		t.Errorf("log\n%s", log)
	}
	if calls := strings.Join(r.calls(), "\n"); strings.Contains(calls, `"shutdown"`) {
		t.Errorf("calls\n%s", calls)
	}
}

// TestHealth: the answer to health is {"status":"ok"}, and a plugin that does not know the event
// has no error: docs/protocols/mine.md, rows M57 and M58.
func TestHealth(t *testing.T) {
	for _, c := range []struct {
		behaviour, health string
		unwell            bool
		doubt             string
	}{
		{"p", "ok", false, ""},
		{"unwell", "vault not found (VAULT_NOT_FOUND)", true, ""},
		{"unwell-exit", "vault not found (VAULT_NOT_FOUND)", true, ""},
		{"deaf", "no answer to health: KeyError: 'context'", false, "its health check failed, and its hooks are called nevertheless: KeyError: 'context'"},
		{"mute", "no answer to health: it did not say that it is ok", false, ""},
		{"rambling", "no answer to health: parse error", false, "parse error"},
		{"sleepy", "no answer to health: not finished within 1s", false, "not finished within 1s"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if c.behaviour == "sleepy" {
				r.dialect.lifecycle = time.Second
			}
			r.fake(c.behaviour, everyStage)
			p := r.open()[0]
			p.CheckHealth(t.Context())
			st := p.Status()
			if !strings.HasPrefix(st.Health, c.health) || (st.Err != nil) != c.unwell || st.Pid != 0 {
				t.Errorf("status %+v", st)
			}
			if (st.Doubt != nil) != (c.doubt != "") || st.Doubt != nil && !strings.Contains(st.Doubt.Error(), c.doubt) {
				t.Errorf("doubt %v, want %q", st.Doubt, c.doubt)
			}
		})
	}
	t.Run("only CheckHealth asks for the health", func(t *testing.T) {
		r, p := openFake(t, "p")
		if st := p.Status(); st.Health != "unknown" {
			t.Errorf("status %+v", st)
		}
		p.CheckHealth(t.Context())
		for range 3 {
			p.Status()
		}
		if n := strings.Count(strings.Join(r.calls(), "\n"), `"event":"health"`); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("a cancelled check stores nothing", func(t *testing.T) {
		_, p := openFake(t, "p")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.CheckHealth(ctx)
		if st := p.Status(); st.Health != "unknown" {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("opening and closing the plugin does not ask for its health", func(t *testing.T) {
		r, p := openFake(t, "p")
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(r.calls(), "\n"); strings.Contains(all, "health") {
			t.Errorf("calls\n%s", all)
		}
	})
}

func TestOpenHonoursItsContext(t *testing.T) {
	r := newRig(t)
	r.fake("p", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.dialect.Open(ctx, r.dialect.Find(r.rt.Env)[0], dialect.Settings{}, r.rt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
