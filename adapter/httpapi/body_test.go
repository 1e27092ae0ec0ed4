package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial opens a raw connection to the server.
func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// readReply reads one answer from a raw connection.
func readReply(t *testing.T, conn net.Conn) reply {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

const saveHead = "POST /plugin/save HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"

func TestBodies(t *testing.T) {
	t.Run("100 MB are refused without being read", func(t *testing.T) {
		s := serve(t, Options{})
		conn := s.dial(t)
		fmt.Fprintf(conn, saveHead+"Content-Length: 104857600\r\n\r\n", s.addr) // and nothing more
		readReply(t, conn).wantsDetail(t, 413, "at most 1048576 bytes")
	})
	t.Run("a body of unknown length is cut off", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{Body: 1000}})
		conn := s.dial(t)
		fmt.Fprintf(conn, saveHead+"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", s.addr, 2000, strings.Repeat("x", 2000))
		readReply(t, conn).wantsDetail(t, 413, "at most 1000 bytes")
	})
	t.Run("the largest allowed body is read", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{Body: 1000}})
		head, tail := `{"name":"x","content":"`, `"}`
		full := head + strings.Repeat("x", 1000-len(head)-len(tail)) + tail
		s.do("POST", "/plugin/validate", full).wants(t, 200, `{"name":"x","hooks":[],"metadata":{"api":"1.0","name":"x"}}`)
		s.do("POST", "/plugin/validate", full+" ").wantsDetail(t, 413, "too large")
	})
	t.Run("a route without a body takes none with fields", func(t *testing.T) {
		s := serve(t, Options{})
		for _, body := range []string{"", " \n", "{}"} {
			if got := s.do("POST", "/feature/plugins/enable", body); got.status != 200 {
				t.Errorf("%q: %d %s", body, got.status, got.body)
			}
		}
		s.do("POST", "/feature/plugins/enable", `{"enabled":false}`).wantsDetail(t, 422, "Invalid request: body.enabled: unexpected property")
		s.do("POST", "/feature/plugins/enable", `[1]`).wantsDetail(t, 422, "Invalid request: body: expected none")
		s.do("POST", "/feature/plugins/enable", `{`).wantsDetail(t, 400, "Invalid request: body: expected none")
	})
	t.Run("a body must arrive in time", func(t *testing.T) {
		s := serve(t, Options{Limits: Limits{BodyTime: shortBodyTime}})
		conn := s.dial(t)
		fmt.Fprintf(conn, saveHead+"Content-Length: 10\r\n\r\n{", s.addr)
		readReply(t, conn).wantsDetail(t, 408, "did not arrive within 50ms")
	})
	t.Run("the body of a refused request is not waited for", func(t *testing.T) {
		s := serve(t, Options{})
		conn := s.dial(t)
		fmt.Fprintf(conn, saveHead+"Origin: http://evil.example\r\nContent-Length: 10\r\n\r\n{", s.addr)
		readReply(t, conn).wantsDetail(t, 403, "Origin not allowed")
	})
	t.Run("a turn outlives the deadline of its body", func(t *testing.T) {
		t.Parallel() // it waits
		s := serve(t, Options{Limits: Limits{BodyTime: outlivedTime}})
		s.do("POST", "/session", "")
		s.do("POST", "/session/ses_a/message", `{"text":"late"}`).wants(t, 200,
			`{"error":null,"session_id":"ses_a","skipped":false,"text":"echo: late","tools":[]}`)
	})
	t.Run("a turn outlives the ReadTimeout of the server", func(t *testing.T) {
		t.Parallel() // it waits
		s := serve(t, Options{}, func(srv *http.Server) { srv.ReadTimeout = outlivedTime })
		s.do("POST", "/session", "")
		if got := s.do("POST", "/session/ses_a/message", `{"text":"late"}`); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// Deadlines that pass during a test. Nothing has to happen within shortBodyTime. Within
// outlivedTime a request must arrive, even on a busy machine.
const (
	shortBodyTime = 50 * time.Millisecond
	outlivedTime  = 4 * time.Second
)
