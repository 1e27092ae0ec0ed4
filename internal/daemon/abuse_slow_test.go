package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// soon is a limit that is short enough for tests to wait until it is over. headTime is such a limit
// too, and long enough for clients that send their header at once, on a busy machine.
const (
	soon     = 100 * time.Millisecond
	headTime = 5 * time.Second
)

// drip sends text, and then a byte from time to time, until the daemon closes the connection or
// answers. It returns the answer.
func drip(t *testing.T, conn *net.TCPConn, text string) string {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		all, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) { // a reset ends it as a close does
			t.Error("the daemon does not close the connection")
		}
		answer <- string(all)
	}()
	tick := time.NewTicker(soon / 10)
	defer tick.Stop()
	for {
		select {
		case all := <-answer:
			return all
		case <-tick.C:
			_, _ = io.WriteString(conn, "x") // fails after the daemon has closed the connection; the answer is read anyway
		}
	}
}

func TestSlowClients(t *testing.T) {
	s := newTestHome(t).serve("", Limits{HeaderTime: headTime, Limits: httpapi.Limits{BodyTime: soon}})
	head := "POST /session HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Type: application/json\r\n"
	for _, c := range []struct{ rule, text, want string }{
		{"a connection that says nothing is closed", "", ""},
		{"a request line byte by byte", "GE", ""},
		{"headers byte by byte", head + "X-", ""},
		{"a body byte by byte", head + "Content-Length: 100000\r\n\r\n{", "408 Request Timeout"},
		{"chunks byte by byte", head + "Transfer-Encoding: chunked\r\n\r\n186a0\r\n{", "408 Request Timeout"},
		{"a chunk's size byte by byte", head + "Transfer-Encoding: chunked\r\n\r\n1;", "40"}, // 400 if it becomes too long before the timeout
		{"a body that was refused already", head + "Origin: http://evil.example\r\nContent-Length: 100000\r\n\r\n{", "403 Forbidden"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got := drip(t, s.dial(), c.text)
			if !strings.HasPrefix(got, "HTTP/1.1 "+c.want) && (c.want != "" || got != "") {
				t.Errorf("answered %q", got)
			}
			s.works(c.rule)
		})
	}
}

func TestHalfClosedConnections(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	head := "POST /session HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Type: application/json\r\n"
	for _, c := range []struct {
		rule, text string
		want       int // 0: no answer
	}{
		{"before the first byte", "", 0},
		{"in the header", head, 400},
		{"in the body", head + "Content-Length: 10\r\n\r\n{}", 400},
		{"in a chunk", head + "Transfer-Encoding: chunked\r\n\r\n10\r\n{}", 400},
	} {
		t.Run(c.rule, func(t *testing.T) {
			conn := s.dial()
			if _, err := io.WriteString(conn, c.text); err != nil {
				t.Fatal(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got := readReplies(bufio.NewReader(conn), -1)
			if c.want == 0 && len(got) != 0 || c.want != 0 && (len(got) != 1 || got[0].status != c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
	if list := s.do("GET", "/session", ""); strings.TrimSpace(list.body) != "[]" {
		t.Errorf("sessions were made: %s", list.body)
	}
}

// TestOpenConnectionsAreLimited opens more connections than are allowed, and leaves them open.
// Plugins must keep their descriptors, and the user's own programs must still be able to connect.
func TestOpenConnectionsAreLimited(t *testing.T) {
	s := newTestHome(t).serve("", Limits{Connections: 3})
	var held []*net.TCPConn
	for range 3 {
		conn := s.dial()
		fmt.Fprintf(conn, "GET /features HTTP/1.1\r\nHost: %s\r\n\r\n", s.addr)
		if got := readReplies(bufio.NewReader(conn), 1); len(got) != 1 || got[0].status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
		held = append(held, conn) // kept open for the next request
	}
	for range 20 {
		got := readReplies(bufio.NewReader(s.dial()), -1)
		if len(got) != 1 || got[0].status != http.StatusServiceUnavailable || !strings.Contains(got[0].body, "Too many connections") {
			t.Fatalf("one connection too many: %+v", got)
		}
	}
	if got := s.overSocket("/v1/health"); got.status != http.StatusOK {
		t.Errorf("over the socket: %+v", got)
	}
	held[0].Close()
	eventually.True(t, "a free place is used again", func() bool {
		conn := s.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "GET /features HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.addr)
		got := readReplies(bufio.NewReader(conn), -1)
		return len(got) == 1 && got[0].status == http.StatusOK
	})
}

// overSocket sends a request over the socket for programs of the same user.
func (s *served) overSocket(path string) reply {
	s.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", "http://patchbay"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.whole(resp)
}

func TestManyAtOnce(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	asks := []struct{ method, path, body string }{
		{"GET", "/v1/health", ""}, {"GET", "/features", ""}, {"GET", "/v1/plugins", ""}, {"POST", "/session", "{}"},
		{"GET", "/session", ""}, {"GET", "/v1/traces", ""}, {"GET", "/v1/recording?session=a&turn=b", ""}, {"GET", "/metrics", ""}, {"GET", "/plugin/none", ""},
		{"POST", "/session", "{"}, {"POST", "/v1/fire", `{"point":"turn.input","data":{"message":"x"}}`},
	}
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			a := asks[i%len(asks)]
			if got := s.do(a.method, a.path, a.body); got.status >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %s", a.method, a.path, got.status, got.body)
			}
		})
	}
	all.Wait()
	s.works("300 requests")
}

// follow opens a stream of events and reads its first line.
func (s *served) follow(path string) (*net.TCPConn, *bufio.Reader) {
	s.t.Helper()
	conn := s.dial()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", path, s.addr)
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.HasPrefix(line, "retry:") {
			return conn, r
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/sleeper/agent.toml", strings.NewReplacer("greeter", "sleeper", "sleep 0.2", "sleep 2").Replace(greeter))
	s := h.serve("", Limits{Limits: httpapi.Limits{Streams: 2}})
	run, err := jobs{s.Jobs}.Start(t.Context(), "sleeper", "", true)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := s.follow("/v1/events")
	s.follow("/v1/events")
	id := run.(job.Run).ID
	for _, path := range []string{"/v1/events", "/v1/runs/" + id + "/output"} {
		got := s.do("GET", path, "", "Accept", "text/event-stream")
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "at most 2 at the same time") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	first.Close()
	eventually.True(t, "the place of a closed stream is free", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	s.works("streams")
}

// TestClientsThatDoNotRead checks that clients that do not read are disconnected and do not delay
// others.
func TestClientsThatDoNotRead(t *testing.T) {
	s := newTestHome(t).serve("", Limits{Limits: httpapi.Limits{Write: 50 * soon}}) // the reading client must never take this long
	var deaf []*net.TCPConn
	for range 5 {
		conn, _ := s.follow("/v1/events")
		if err := conn.SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		deaf = append(deaf, conn)
	}
	reader, events := s.follow("/v1/events")
	if err := reader.SetDeadline(time.Now().Add(5 * patience)); err != nil { // each event waits for the disk
		t.Fatal(err)
	}
	const many = 40 // 8 MB: more than the kernel buffers for a client
	big := strings.Repeat("x", 200_000)
	go func() {
		for i := range many {
			if _, err := s.Journal.Publish(context.WithoutCancel(t.Context()), "noise", "", fmt.Appendf(nil, `{"number":%d,"text":%q}`, i, big)); err != nil {
				t.Errorf("publish: %v", err)
				return
			}
		}
	}()
	for seen := 0; seen < many; {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatalf("the client that reads: %v after %d events", err, seen)
		}
		if strings.HasPrefix(line, "data: ") {
			seen++
		}
	}
	eventually.True(t, "the others are dropped", func() bool { return strings.Count(s.log.String(), "stream cut off") == len(deaf) })
	for i, conn := range deaf { // first the bytes that the kernel buffered, then the end
		if _, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("client %d was not dropped: %v", i, err)
		}
	}
	s.works("them")
}
