package dotagent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestPreflightRefuses: a preflight that answers ok false refuses, with its reason and suggestion.
func TestPreflightRefuses(t *testing.T) {
	for _, c := range []struct{ rule, behaviour, reason, suggest string }{
		{"ok false", "refuse", "VPN is down", "connect the VPN"},
		{"ok false and exit 1: the suggestion is not lost", "refuse-exit", "plugin refuse-exit failed (exit 1): VPN is down", "connect the VPN"},
		{"ok false without a reason", "refuse-quietly", "it gave no reason", ""},
		{"ok false, exit 4, the reason on stderr", "refuse-stderr", "plugin refuse-stderr failed (exit 4): no route to host", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			out := fire(t, hook.JobPreflight, `{"agent":"a","schedule":"s"}`, fake(t, c.behaviour).open().Hooks()...)
			if out.Verdict != hook.Deny || out.Reason != c.reason || out.Suggest != c.suggest {
				t.Errorf("%s, %q, %q", out.Verdict, out.Reason, out.Suggest)
			}
			if err := step(t, out).Err; err != nil {
				t.Errorf("a refusal is no error: %v", err)
			}
		})
	}
}

// TestFailures: a sink that fails returns an error with the kind and the text of
// docs/protocols/dotagent.md, rows D32 to D41.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		behaviour string
		kind      hook.Kind // "": the call succeeds
		text      string
	}{
		{"ok", "", ""},
		{"extra", "", ""},
		{"flood", "", ""},
		{"refuse", hook.Refused, "VPN is down"},
		{"refuse-exit", hook.Refused, "plugin refuse-exit failed (exit 1): VPN is down"},
		{"refuse-quietly", hook.Refused, "it gave no reason"},
		{"refuse-number", hook.Refused, "it gave no reason: its field error is not a string: 5"},
		{"error-exit", hook.Crash, "plugin error-exit failed (exit 7): from stderr"},
		{"error-exit-quietly", hook.Crash, "plugin error-exit-quietly failed (exit 7): from stdout"},
		{"ok-exit", hook.Crash, "plugin ok-exit failed (exit 3): half of it is missing"},
		{"ok-exit-error", hook.Crash, "plugin ok-exit-error failed (exit 3): the disk is full"},
		{"crash", hook.Crash, "plugin crash failed (exit 7): boom"},
		{"crash-garbage", hook.Crash, "plugin crash-garbage failed (exit 7): boom"},
		{"crash-silent", hook.Crash, "plugin crash-silent failed (exit 7): it gave no reason"},
		{"kill-self", hook.Crash, "plugin kill-self failed (exit -1): it gave no reason (SIGKILL)"},
		{"empty", hook.Garbled, "its reply to invoke is empty"},
		{"garbage", hook.Garbled, `its reply to invoke is not a JSON object: "done!"`},
		{"two", hook.Garbled, "is not a JSON object"},
		{"list", hook.Garbled, "is not a JSON object"},
		{"no-ok", hook.Garbled, "has no field ok with the value true or false"},
		{"ok-text", hook.Garbled, "has no field ok with the value true or false"},
		{"ok-both", hook.Garbled, `its reply to invoke is invalid: the field "ok" has two values: `},
		{"huge", hook.TooLarge, "its reply to invoke is over 4194304 bytes"},
		{"hang", hook.Timeout, "plugin hang.invoke exceeded its time — killed"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			hooks := fake(t, c.behaviour).open().Hooks()
			if c.kind == hook.Timeout {
				for i := range hooks {
					hooks[i].Timeout = 500 * time.Millisecond
				}
			}
			s := step(t, fire(t, hook.JobSink, `{"message":"m"}`, hooks...))
			switch {
			case c.kind == "" && s.Err != nil:
				t.Errorf("error %v", s.Err)
			case c.kind != "" && (!errors.Is(s.Err, c.kind) || !strings.Contains(untimed(s.Err.Error()), c.text)):
				t.Errorf("error %v, want %s, %q", s.Err, c.kind, c.text)
			}
		})
	}
}

// TestAGateNeverOpensByAccident: a preflight that does not work refuses, at every point.
func TestAGateNeverOpensByAccident(t *testing.T) {
	for _, behaviour := range []string{"crash", "garbage", "empty", "no-ok", "hang"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			p := fake(t, behaviour).open()
			for _, point := range []hook.Point{hook.JobPreflight, hook.TurnBegin, hook.ToolBefore, hook.CommandBefore} {
				h, err := p.Connect(kindPreflight, point)
				if err != nil {
					t.Fatal(err)
				}
				if behaviour == "hang" {
					h.Timeout = 200 * time.Millisecond
				}
				if out := fire(t, point, `{}`, h); out.Verdict != hook.Deny {
					t.Errorf("%s: %s", point, out.Verdict)
				}
			}
		})
	}
}

// TestAnErrorBesideOk: the field ok decides, and an error beside it is a note and a warning.
func TestAnErrorBesideOk(t *testing.T) {
	r := fake(t, "contradiction")
	var log bytes.Buffer
	r.rt.Log = slog.New(slog.NewTextHandler(&log, nil))
	out := fire(t, hook.JobPreflight, `{"agent":"a"}`, r.open().Hooks()...)
	if out.Verdict != hook.Continue || len(out.Steps[0].Notes) != 1 || !strings.Contains(out.Steps[0].Notes[0], "to refuse, answer") {
		t.Errorf("%s, notes %q", out.Verdict, out.Steps[0].Notes)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "VPN is down") {
		t.Errorf("log\n%s", log.String())
	}
}

// TestTrace: the trace has the payload and the reply, with all fields of the reply.
func TestTrace(t *testing.T) {
	for behaviour, received := range map[string]string{
		"extra":   `{"ok":true,"page_id":"#42","suggest":"s"}`,
		"refuse":  `{"ok":false,"error":"VPN is down","suggest":"connect the VPN","host":"a"}`,
		"garbage": `"done!"`,
		"empty":   ``,
	} {
		s := step(t, fire(t, hook.JobNotify, `{"agent":"a","event":"given_up","message":"m"}`, fake(t, behaviour).open().Hooks()...))
		if want := `{"kind":"notify","agent":"a","schedule":"","event":"given_up","message":"m","config":{}}`; string(s.Sent) != want {
			t.Errorf("%s: sent %s, want %s", behaviour, s.Sent, want)
		}
		if string(s.Received) != received {
			t.Errorf("%s: received %s, want %s", behaviour, s.Received, received)
		}
	}
}

func TestDeadlines(t *testing.T) {
	want := map[string]time.Duration{"preflight": 30 * time.Second, "sink": 300 * time.Second, "notify": 15 * time.Second}
	for _, h := range fake(t, "ok").open().Hooks() {
		if h.Timeout != want[h.Name] {
			t.Errorf("%s: %s", h.Name, h.Timeout)
		}
	}
	if d := New(); d.info != 10*time.Second || d.validate != 30*time.Second || d.grace != 5*time.Second {
		t.Errorf("%+v", d)
	}
}

// TestExceeded: the message of a timeout names the time that the call was given.
func TestExceeded(t *testing.T) {
	for given, want := range map[time.Duration]string{
		300 * time.Second: "300s", 15 * time.Second: "15s", 1500 * time.Millisecond: "1.5s", 250 * time.Millisecond: "0.25s",
	} {
		if got := timeLeft(plugtest.NewRipening(t.Context(), given)); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
	if got := timeLeft(context.Background()); got != "its time" {
		t.Errorf("no deadline: %q", got)
	}
}

// TestACancelledCallIsNoTimeout: a call that its caller cancels does not report a timeout.
func TestACancelledCallIsNoTimeout(t *testing.T) {
	h, err := fake(t, "ok").open().Connect(kindNotify, hook.JobNotify)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Call(ctx, &hook.Event{Point: hook.JobNotify}); !errors.Is(err, context.Canceled) || errors.Is(err, hook.Timeout) {
		t.Errorf("error %v", err)
	}
}

// TestStandby: processes of standby are sent the same payloads as others, and Close stops them.
func TestStandby(t *testing.T) {
	r := fake(t, "ok")
	r.settings.Standby = 1
	p := r.open()
	for _, message := range []string{"one", "two", "three"} {
		s := step(t, fire(t, hook.JobSink, `{"message":"`+message+`"}`, p.Hooks()...))
		if s.Err != nil || string(s.Received) != `{"ok":true}` {
			t.Errorf("%s: %v, %s", message, s.Err, s.Received)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s := step(t, fire(t, hook.JobSink, `{}`, p.Hooks()...)); !errors.Is(s.Err, hook.Unavailable) {
		t.Errorf("after Close: %v", s.Err)
	}
	var invoked []string
	for _, call := range plugtest.Recorded(t, r.home) {
		if strings.HasPrefix(call, verbInvoke) {
			invoked = append(invoked, call)
		}
	}
	if len(invoked) < 3 || !strings.Contains(invoked[1], `"message":"two"`) {
		t.Errorf("calls %q", invoked)
	}
}

// TestShortStderr: an error before a long backtrace is shown, and so is one after it.
func TestShortStderr(t *testing.T) {
	trace := strings.Repeat("at main.rs:1\n", 200)
	if got := shortStderr("Error: no such file\n" + trace); !strings.HasPrefix(got, "Error: no such file\n") || len(got) > 1100 {
		t.Errorf("%d bytes: %.50q", len(got), got)
	}
	if got := shortStderr(trace + "KeyError: 'page'\n"); !strings.HasSuffix(got, "KeyError: 'page'") {
		t.Errorf("%q", got)
	}
	if got := shortStderr(" short \n"); got != "short" {
		t.Errorf("%q", got)
	}
}
