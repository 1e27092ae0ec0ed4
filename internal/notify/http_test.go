package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// toEndpoint returns a notifier whose service is an endpoint.
func toEndpoint(t *testing.T, s *testOptions, e *endpoint) Notifier {
	t.Helper()
	return s.notifier(t, Slack, map[string]any{"webhook_url": e.URL + "/hook/hush-hush"})
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		rule    string
		answers []answer
		taken   bool
		waits   []time.Duration
	}{
		{"429 and 5xx are tried again, after growing waits", []answer{{status: 429}, {status: 503}}, true, []time.Duration{time.Second, 2 * time.Second}},
		{"there are at most three tries", []answer{{status: 500}, {status: 500}, {status: 500}, {status: 200}}, false, []time.Duration{time.Second, 2 * time.Second}},
		{"Retry-After is honoured", []answer{{status: 429, header: map[string]string{"Retry-After": "7"}}}, true, []time.Duration{7 * time.Second}},
		{"a service that wants more than 10 s is left alone", []answer{{status: 429, header: map[string]string{"Retry-After": "11"}}}, false, nil},
		{"a huge Retry-After does not overflow", []answer{{status: 429, header: map[string]string{"Retry-After": "9223372036854775807"}}}, false, nil},
		{"Telegram's retry_after counts too", []answer{{status: 429, body: `{"ok":false,"parameters":{"retry_after":3}}`}}, true, []time.Duration{3 * time.Second}},
		{"a Retry-After that is past or invalid is ignored", []answer{{status: 503, header: map[string]string{"Retry-After": "Mon, 01 Jan 1990 15:04:05 GMT"}}, {status: 503, header: map[string]string{"Retry-After": "soon"}}}, true, []time.Duration{time.Second, 2 * time.Second}},
		{"4xx is final", []answer{{status: 404}}, false, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e, s := serve(t, c.answers...), newTestOptions(nil)
			err := toEndpoint(t, s, e).Send(t.Context(), failed())
			if (err == nil) != c.taken || !slices.Equal(s.waits, c.waits) {
				t.Errorf("got %v after waits %v", err, s.waits)
			}
			if got := len(e.requests()); got != len(c.waits)+1 {
				t.Errorf("got %d requests", got)
			}
		})
	}
	t.Run("a service that cannot be reached is tried again", func(t *testing.T) {
		e, s := serve(t), newTestOptions(nil)
		n := toEndpoint(t, s, e)
		e.Close()
		err := n.Send(t.Context(), failed())
		if err == nil || len(s.waits) != 2 || !strings.Contains(err.Error(), "tried 3 times") {
			t.Errorf("got %v after %v", err, s.waits)
		}
		hasNone(t, "the error", err.Error(), "hush-hush")
	})
	t.Run("after a connection that broke there is no second try: the message may have arrived", func(t *testing.T) {
		s := newTestOptions(nil)
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		defer srv.Close()
		n := s.notifier(t, Slack, map[string]any{"webhook_url": srv.URL + "/hook/hush-hush"})
		if err := n.Send(t.Context(), failed()); err == nil || len(s.waits) != 0 {
			t.Errorf("got %v after %v", err, s.waits)
		}
	})
	t.Run("the caller's context ends the sending", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newTestOptions(nil)
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
			cancel()
			<-r.Context().Done()
		}))
		defer srv.Close()
		n := s.notifier(t, Slack, map[string]any{"webhook_url": srv.URL + "/hook/hush-hush"})
		if err := n.Send(ctx, failed()); !errors.Is(err, context.Canceled) || len(s.waits) != 0 {
			t.Errorf("got %v after %v", err, s.waits)
		}
	})
}

func TestRedirects(t *testing.T) {
	elsewhere := serve(t)
	for _, c := range []struct {
		rule, to string
		status   int
		taken    bool
	}{
		{"the same request to the same host is followed", "/moved", 307, true},
		{"another host is not followed", elsewhere.URL + "/stolen", 307, false},
		{"a POST that would become a GET is not followed", "/moved", 302, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e, s := serve(t, answer{status: c.status, header: map[string]string{"Location": c.to}}), newTestOptions(nil)
			err := toEndpoint(t, s, e).Send(t.Context(), failed())
			if (err == nil) != c.taken {
				t.Errorf("got %v", err)
			}
			if err != nil {
				hasNone(t, "the error", err.Error(), "hush-hush", "stolen")
			}
			if got := len(e.requests()); (got == 2) != c.taken {
				t.Errorf("got %d requests", got)
			}
		})
	}
	t.Run("a redirect of the front page proves that the host is there", func(t *testing.T) {
		e, s := serve(t, answer{status: 302, header: map[string]string{"Location": elsewhere.URL}}), newTestOptions(nil)
		if err := toEndpoint(t, s, e).Reach(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got := elsewhere.requests(); len(got) != 0 {
		t.Errorf("another host got %+v", got)
	}
}

func TestServiceErrors(t *testing.T) {
	for _, c := range []struct{ rule, body, want string }{
		{"plain text is quoted", "no_service", `notifier slack: 403 forbidden: "no_service"`},
		{"the text in JSON is quoted", `{"code":40301,"http":403,"error":"forbidden"}`, `notifier slack: 403 forbidden: "forbidden"`},
		{"an empty answer has no text", "", `notifier slack: 403 forbidden`},
		{"secrets are removed", "no hook at /hook/hush-hush", `notifier slack: 403 forbidden: "no hook at ***"`},
		{"escape sequences are removed first", "/hook/hush\x1b[0m-hush\x07", `notifier slack: 403 forbidden: "***"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e, s := serve(t, answer{status: 403, body: c.body}), newTestOptions(nil)
			err := toEndpoint(t, s, e).Send(t.Context(), failed())
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("a long text is read and shown in part", func(t *testing.T) {
		e, s := serve(t, answer{status: 400, body: strings.Repeat("x", 1<<20)}), newTestOptions(nil)
		if err := toEndpoint(t, s, e).Send(t.Context(), failed()); err == nil || len(err.Error()) > 400 {
			t.Errorf("got %.500v", err)
		}
	})
	t.Run("the text is not shown if a secret is too short to be found in it", func(t *testing.T) {
		e, s := serve(t, answer{status: 400, body: "no bot abc"}), newTestOptions(map[string]string{"T": "abc"})
		n := s.notifier(t, Telegram, map[string]any{"bot_token": "${T}", "chat_id": "1", "base_url": e.URL})
		if err := n.Send(t.Context(), failed()); err == nil || strings.Contains(err.Error(), "abc") {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnencrypted(t *testing.T) {
	for address, want := range map[string]bool{
		"https://ntfy.sh/": false, "http://127.0.0.1:80/": false, "http://[::1]/": false, "http://localhost/": false,
		"http://ntfy.example/": true, "http://192.0.2.1/": true,
	} {
		if got := unencrypted(address); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
	n := newTestOptions(nil).notifier(t, Ntfy, map[string]any{"topic": "abcd", "base_url": "http://ntfy.example"})
	if notes := n.Describe(failed()).Notes; len(notes) != 1 {
		t.Errorf("a preview does not say so: %q", notes)
	}
}
