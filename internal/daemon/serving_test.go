package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// patience is how long a test waits for a condition before it fails. It measures nothing.
const patience = time.Minute

// A served is a whole daemon, on a TCP port and on its socket.
type served struct {
	t *testing.T
	*Core
	addr   string // 127.0.0.1:PORT
	socket string
	log    *plugtest.Log
	client *http.Client
}

// serve starts a daemon that logs at the finest level.
func (h testHome) serve(script string, limits Limits) *served {
	h.t.Helper()
	s := &served{t: h.t, log: new(plugtest.Log)}
	o := h.options()
	o.Host.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if script != "" {
		o.Script = h.write("script.yaml", script)
	}
	var err error
	if s.Core, err = Open(h.t.Context(), o); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.close(s.Core) })
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan Addresses, 1), make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, ServeOptions{Listen: "127.0.0.1:0", Ready: func(a Addresses) { ready <- a }, Limits: limits})
	}()
	s.client = &http.Client{Transport: new(http.Transport), Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	h.t.Cleanup(func() {
		s.client.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("serve: %v", err)
		}
	})
	select {
	case at := <-ready:
		s.addr, s.socket = strings.TrimPrefix(at.HTTP, "http://"), at.Socket
	case err := <-ended:
		ended <- err
		h.t.Fatalf("serve: %v", err)
	}
	s.awaitStores()
	return s
}

// awaitStores waits until the scheduler has opened its stores. If a test ended earlier, it would
// end the engine's server while that makes a store, and the server would leave a goroutine behind.
func (s *served) awaitStores() {
	s.t.Helper()
	for _, path := range []string{"/v1/jobs", "/v1/runs", "/session", "/features", "/v1/traces"} {
		if got := s.overSocket(path); got.status != http.StatusOK { // over the socket, which uses none of the places that the test counts
			s.t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// A reply is an answer that was read completely.
type reply struct {
	status int
	header http.Header
	body   string
}

// do makes a request, with JSON if it has a body. Headers come in pairs.
func (s *served) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" { // net/http sends this field, not the header
			r.Host = headers[i+1]
		}
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.whole(resp)
}

func (s *served) whole(resp *http.Response) reply {
	s.t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// session creates a session over HTTP.
func (s *served) session() string {
	s.t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(s.do("POST", "/session", "{}").body), &made); err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// works checks that the daemon still serves other clients.
func (s *served) works(after string) {
	s.t.Helper()
	if got := s.do("GET", "/v1/health", ""); got.status != http.StatusOK {
		s.t.Errorf("after %s: %d %s", after, got.status, got.body)
	}
}

// dial opens a connection with a deadline.
func (s *served) dial() *net.TCPConn {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", s.addr, patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// talk sends text unchanged, and returns the given number of answers and all further ones. After
// the answers it closes its side, and the daemon closes the connection.
func (s *served) talk(text string, answers int) []reply {
	s.t.Helper()
	conn := s.dial()
	sent := make(chan struct{})
	go func() { // the daemon may answer before it has read everything
		defer close(sent)
		_, _ = io.WriteString(conn, text) // the daemon may close the connection: its answer says why
	}()
	r := bufio.NewReader(conn)
	replies := readReplies(r, answers)
	_ = conn.CloseWrite() // may be closed already
	replies = append(replies, readReplies(r, -1)...)
	conn.Close()
	<-sent
	return replies
}

// readReplies reads the given number of answers. If most is negative, it reads all until one cannot
// be read.
func readReplies(r *bufio.Reader, most int) []reply {
	var replies []reply
	for len(replies) != most {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return replies
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return replies
		}
		replies = append(replies, reply{resp.StatusCode, resp.Header, string(text)})
	}
	return replies
}

// dialerPath is the environment variable with a socket. If it is set, this program runs no tests
// and calls dialAsOther.
const dialerPath = "PATCHBAY_TEST_DIAL"

// dialAsOther sends a request to a socket, and prints the beginning of the answer.
func dialAsOther(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/health HTTP/1.1\r\nHost: patchbay\r\n\r\n")
	text := make([]byte, 100)
	n, err := conn.Read(text)
	fmt.Printf("connected, %d bytes, %v: %q\n", n, err, text[:n])
}
