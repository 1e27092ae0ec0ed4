package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A listener is a client of a stream.
type listener struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
	leave context.CancelFunc
	head  http.Header
}

// listen opens a stream.
func (s *server) listen(method, path, body string, changes ...change) *listener {
	s.t.Helper()
	r := s.request(method, path, body, append(changes, header("Accept", "text/event-stream"))...)
	ctx, cancel := context.WithCancel(r.Context())
	s.t.Cleanup(cancel)
	resp, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("%s %s: %d %s %s", method, path, resp.StatusCode, ct, text)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return &listener{t: s.t, body: resp.Body, lines: bufio.NewReader(resp.Body), leave: cancel, head: resp.Header}
}

// next returns the next message, its lines joined by |, or "" at the end.
func (l *listener) next() string {
	l.t.Helper()
	var lines []string
	for {
		line, err := l.lines.ReadString('\n')
		switch line = strings.TrimSuffix(line, "\n"); {
		case errors.Is(err, io.EOF) && line == "" && lines == nil:
			return ""
		case err != nil:
			l.t.Fatalf("after %q: %v", lines, err)
		case line == "":
			return strings.Join(lines, "|")
		}
		lines = append(lines, line)
	}
}

// wants checks the next messages.
func (l *listener) wants(messages ...string) {
	l.t.Helper()
	for _, want := range messages {
		if got := l.next(); got != want {
			l.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// within waits for something that must happen.
func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("unreachable")
	}
}

const hello = "retry: 2000"

func TestEvents(t *testing.T) {
	t.Run("without an id, only new events are sent", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.add("old", `1`)
		l := s.listen("GET", "/v1/events", "")
		l.wants(hello)
		s.events.add("new", `{"a":2}`)
		l.wants("id: 2|event: new|data: {\"a\":2}")
	})
	t.Run("after an id, all later events are sent", func(t *testing.T) {
		s := serve(t, Options{})
		for i := range 4 {
			s.events.add("e", fmt.Sprint(i))
		}
		s.listen("GET", "/v1/events?after=2", "").wants(hello, "id: 3|event: e|data: 2", "id: 4|event: e|data: 3")
		s.listen("GET", "/v1/events?after=0", "").wants(hello, "id: 1|event: e|data: 0")
		s.listen("GET", "/v1/events?after=1", "", header("Last-Event-ID", "3")).wants(hello, "id: 4|event: e|data: 3")
	})
	t.Run("only the events of one session are sent", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.add("e", `{"session_id":"ses_a"}`)
		s.events.add("e", `{"session_id":"ses_b"}`)
		s.listen("GET", "/v1/events?after=0&session=ses_b", "").wants(hello, `id: 2|event: e|data: {"session_id":"ses_b"}`)
	})
	t.Run("events that no longer exist are a gap", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.first = 10
		s.events.add("e", `0`)
		s.listen("GET", "/v1/events?after=3", "").wants(hello, `event: gap|data: {"after":3,"first":10,"last":10}`, "id: 10|event: e|data: 0")
		s.listen("GET", "/v1/events?after=9", "").wants(hello, "id: 10|event: e|data: 0")
		s.listen("GET", "/v1/events?after=99", "").wants(hello, `event: gap|data: {"after":99,"first":10,"last":10}`)
	})
	t.Run("events that expire while a client follows are a gap, deleted ones are not", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.add("e", `0`)
		l := s.listen("GET", "/v1/events?after=0", "")
		l.wants(hello, "id: 1|event: e|data: 0")
		s.events.addAt(4, 1) // 2 and 3 were deleted
		l.wants("id: 4|event: e|data: 4")
		s.events.addAt(9, 7) // 5 and 6 are too old, 7 and 8 were deleted
		l.wants(`event: gap|data: {"after":4,"first":7,"last":9}`, "id: 9|event: e|data: 9")
		s.events.addAt(10, 7)
		l.wants("id: 10|event: e|data: 10")
	})
	t.Run("an invalid id is refused", func(t *testing.T) {
		s := serve(t, Options{})
		s.do("GET", "/v1/events?after=x", "").wantsDetail(t, 422, "query.after")
		s.do("GET", "/v1/events", "", header("Last-Event-ID", "99999999999999999999")).wantsDetail(t, 422, "Not an event id")
	})
	t.Run("data is always one line", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.add("two\nlines", "{\n  \"a\":\r\n 1}")
		s.events.add("e", "no\nJSON")
		s.listen("GET", "/v1/events?after=0", "").wants(hello, `id: 1|event: two lines|data: {"a":1}`, `id: 2|event: e|data: "not JSON: no\nJSON"`)
	})
	t.Run("a quiet stream is kept open by comments", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{Heartbeat: time.Millisecond}})
		s.listen("GET", "/v1/events", "").wants(hello, ": alive", ": alive")
	})
	t.Run("a stream ends when its client leaves", func(t *testing.T) {
		s := serve(t, Options{})
		l := s.listen("GET", "/v1/events", "")
		l.wants(hello)
		l.leave()
		if err := within(t, "the end of the stream", s.events.ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("a client that does not read is dropped", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{Write: 100 * time.Millisecond}})
		conn := s.dial(t)
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		for range 64 { // more than the buffers of both ends
			s.events.add("big", `"`+strings.Repeat("x", 1<<18)+`"`)
		}
		fmt.Fprintf(conn, "GET /v1/events?after=0 HTTP/1.1\r\nHost: %s\r\n\r\n", s.addr)
		var timeout net.Error
		if err := within(t, "the end of the stream", s.events.ended); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("got %v, want a timeout", err)
		}
	})
	t.Run("an event that is larger than any buffer is sent whole", func(t *testing.T) {
		s := serve(t, Options{})
		big := `"` + strings.Repeat("x", 3*pieceSize+1) + `"`
		s.events.add("big", big)
		s.listen("GET", "/v1/events?after=0", "").wants(hello, "id: 1|event: big|data: "+big)
	})
	t.Run("the number of streams is limited", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{Streams: 1}})
		l := s.listen("GET", "/v1/events", "")
		l.wants(hello)
		s.do("GET", "/v1/events", "").wantsDetail(t, 503, "at most 1 at the same time")
		l.leave()
		within(t, "the end of the stream", s.events.ended)
	})
	t.Run("a failure of the daemon is sent and logged", func(t *testing.T) {
		s := serve(t, Options{})
		s.events.broken = errTurn
		s.listen("GET", "/v1/events", "").wants(hello, `event: error|data: {"detail":"`+detailInternal+`"}`, "")
		if !strings.Contains(s.log.String(), "hunter2") {
			t.Error("the log does not have the reason")
		}
	})
}

func TestTurnStreams(t *testing.T) {
	const path, started = "/session/ses_a/message", `event: turn.started|data: {"type":"turn.started"}`
	open := func(t *testing.T, o Options) *server {
		s := serve(t, o)
		s.do("POST", "/session", "")
		return s
	}
	t.Run("the events come, then the result", func(t *testing.T) {
		s := open(t, Options{})
		s.listen("POST", path, `{"text":"hi"}`).wants(started,
			`event: result|data: {"error":null,"session_id":"ses_a","skipped":false,"text":"echo: hi","tools":[]}`, "")
	})
	t.Run("a problem before the first event is a plain answer", func(t *testing.T) {
		s := open(t, Options{})
		events := header("Accept", "text/event-stream")
		s.do("POST", "/session/ses_z/message", `{"text":"hi"}`, events).wantsDetail(t, 404, detailNoSession)
		s.do("POST", path, `{"text":"busy"}`, events).wantsDetail(t, 409, "a turn is running (pid 7)")
	})
	t.Run("a problem after the first event is the last event", func(t *testing.T) {
		s := open(t, Options{})
		s.listen("POST", path, `{"text":"break"}`).wants(started, `event: error|data: {"detail":"`+detailInternal+`"}`, "")
	})
	t.Run("a client that leaves interrupts its turn", func(t *testing.T) {
		s := open(t, Options{})
		l := s.listen("POST", path, `{"text":"hang"}`)
		l.wants(started)
		l.leave()
		if err := within(t, "the end of the turn", s.turns.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the turn's context: %v", err)
		}
	})
	t.Run("a client that leaves without streaming interrupts its turn too", func(t *testing.T) {
		s := open(t, Options{})
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			resp, err := s.client.Do(s.request("POST", path, `{"text":"hang"}`).WithContext(ctx))
			if err == nil {
				resp.Body.Close()
			}
			gone <- err
		}()
		within(t, "the turn", s.turns.started)
		leave()
		if err := within(t, "the end of the turn", s.turns.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the turn's context: %v", err)
		}
		<-gone
	})
	t.Run("a client that does not read interrupts its turn", func(t *testing.T) {
		s := open(t, Options{Limits: Limits{Write: 100 * time.Millisecond}})
		conn := s.dial(t)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"+
			`{"text":"flood"}`, path, s.addr)
		if err := within(t, "the end of the turn", s.turns.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the turn's context: %v", err)
		}
	})
	t.Run("a turn that panics cuts the stream and leaves nothing behind", func(t *testing.T) {
		s := open(t, Options{Limits: Limits{Heartbeat: time.Millisecond}})
		l := s.listen("POST", path, `{"text":"fall"}`)
		l.wants(started)
		if _, err := io.ReadAll(l.lines); err == nil {
			t.Error("the stream ended as if it were complete")
		}
	})
}

func TestWantsEvents(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/event-stream":                       true,
		"Text/Event-Stream; q=0.5":                true,
		"application/json, text/event-stream":     true,
		"text/event-stream;q=0, application/json": false,
		"*/*":                 false,
		"":                    false,
		"text/event":          false,
		"x text/event-stream": false,
	} {
		if got := wantsEvents(accept); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
