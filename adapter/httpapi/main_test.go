package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience limits each wait for something that must happen.
const patience = time.Minute

// A server is the API on a real listener, with a client for it.
type server struct {
	t      *testing.T
	addr   string // 127.0.0.1:PORT
	client *http.Client
	log    *plugtest.Log
	*fake
}

// serve starts a server. Options without a backend get the fake one.
func serve(t *testing.T, o Options, tweaks ...func(*http.Server)) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, o, listener, tweaks...)
	s.addr = listener.Addr().String()
	return s
}

func serveOn(t *testing.T, o Options, listener net.Listener, tweaks ...func(*http.Server)) *server {
	t.Helper()
	s := &server{t: t, fake: newFake(), log: new(plugtest.Log)}
	if reflect.ValueOf(o.Backend).IsZero() {
		o.Backend = s.backend()
	}
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := New(o)
	base, cancel := context.WithCancel(context.Background())
	srv := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return base }, ReadHeaderTimeout: patience}
	for _, tweak := range tweaks {
		tweak(srv)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	network, address := listener.Addr().Network(), listener.Addr().String()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address) // under any host name that the test uses
	}}
	s.client = &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-done
	})
	return s
}

// A reply is an answer that was read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

// A change modifies a request.
type change func(*http.Request)

func header(name, value string) change {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) change { return func(r *http.Request) { r.Host = name } }

// request makes a request as curl would: with the content type JSON if there is a body, and no
// other header.
func (s *server) request(method, path, body string, changes ...change) *http.Request {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range changes {
		c(r)
	}
	return r
}

func (s *server) do(method, path, body string, changes ...change) reply {
	s.t.Helper()
	return s.send(s.request(method, path, body, changes...))
}

func (s *server) send(r *http.Request) reply {
	s.t.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// wants checks status and body; the body as JSON without spaces.
func (r reply) wants(t *testing.T, status int, body string) {
	t.Helper()
	if got := compact(t, r.body); r.status != status || got != body {
		t.Errorf("got %d %s\nwant %d %s", r.status, got, status, body)
	}
}

// wantsDetail checks a problem: status, shape, and a part of its text.
func (r reply) wantsDetail(t *testing.T, status int, part string) {
	t.Helper()
	var p map[string]string
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("not a problem: %d %s", r.status, r.body)
	}
	if r.status != status || len(p) != 1 || !strings.Contains(p["detail"], part) || part == "" && p["detail"] == "" {
		t.Errorf("got %d %s\nwant %d and a detail with %q", r.status, r.body, status, part)
	}
	if ct := r.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("a problem has the content type %q", ct)
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return b.String()
}
