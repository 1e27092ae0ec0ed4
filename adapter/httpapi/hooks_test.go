package httpapi

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// fakeHooks answers with what it was asked.
type fakeHooks struct{ err error }

func (f *fakeHooks) Answer(_ context.Context, agent string, r HookRequest) (HookAnswer, error) {
	if f.err != nil {
		return HookAnswer{}, f.err
	}
	return HookAnswer{Stdout: agent + " " + r.Event + " " + string(r.Input), ExitCode: 2}, nil
}

func (f *fakeHooks) Yield(context.Context, YieldRequest) error { return f.err }

func TestHooks(t *testing.T) {
	hooks := &fakeHooks{}
	s := serve(t, Options{Backend: Backend{Hooks: hooks, Yielder: hooks}})
	const body = `{"protocol":1,"version":"1","event":"PreToolUse","dir":"/","input":{"a":1}}`
	t.Run("an event is answered", func(t *testing.T) {
		got := s.do("POST", "/v1/hooks/claude", body)
		if got.status != 200 || got.body != `{"stdout":"claude PreToolUse {\"a\":1}","stderr":"","exit_code":2}`+"\n" {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	t.Run("an event may be as long as a tool's result", func(t *testing.T) {
		long := strings.Replace(body, `{"a":1}`, `"`+strings.Repeat("x", 4<<20)+`"`, 1)
		if got := s.do("POST", "/v1/hooks/claude", long); got.status != 200 {
			t.Errorf("%d %.200s", got.status, got.body)
		}
		if got := s.do("POST", "/v1/daemon/yield", long); got.status != 413 {
			t.Errorf("on another route: %d %.200s", got.status, got.body)
		}
		if got := s.do("POST", "/v1/hooks/claude", strings.Replace(body, `{"a":1}`, `"`+strings.Repeat("x", hookBody)+`"`, 1)); got.status != 413 {
			t.Errorf("longer than the limit: %d %.200s", got.status, got.body)
		}
	})
	t.Run("the status says what a client does next", func(t *testing.T) {
		for err, want := range map[error]int{ErrNoAgent: 404, ErrOtherVersion: 409, ErrNoYield: 409, ErrOtherProtocol: 501,
			&UnavailableError{Reason: "it ends"}: 503, &InvalidRequestError{Reason: "no event"}: 400, errors.New("secret"): 500} {
			hooks.err = err
			if got := s.do("POST", "/v1/hooks/claude", body); got.status != want || strings.Contains(got.body, "secret") {
				t.Errorf("%v: %d %s", err, got.status, got.body)
			}
		}
		hooks.err = ErrNoYield
		if got := s.do("POST", "/v1/daemon/yield", `{"version":"1"}`); got.status != 409 {
			t.Errorf("%d %s", got.status, got.body)
		}
		hooks.err = nil
		if got := s.do("POST", "/v1/daemon/yield", `{"version":"1","serve":true}`); got.status != 200 || got.body != `{"yields":true}`+"\n" {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}
