package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits every wait. It is long because a busy machine is slow.
const patience = time.Minute

// A server is a `patchbay serve` process.
type server struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	url  string
	log  *bytes.Buffer // its stderr; read it after the end
	done chan struct{}
}

// serve starts the daemon in a home, at a free port, and waits until it answers.
func serve(t *testing.T, home string, args ...string) *server {
	t.Helper()
	return serveWith(t, home, nil, args...)
}

// serveWith is serve with more environment variables.
func serveWith(t *testing.T, home string, environ []string, args ...string) *server {
	t.Helper()
	cmd := patchbayIn(home, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...) // args may name another address
	cmd.Env = append(cmd.Env, environ...)
	return serveAs(t, home, cmd)
}

// serveAs is serve with a prepared command.
func serveAs(t *testing.T, home string, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, home: home, cmd: cmd, log: new(bytes.Buffer), done: make(chan struct{})}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, readErr := lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		_ = s.cmd.Wait() // tests that need the exit code look at it themselves
		close(s.done)
	}()
	t.Cleanup(s.stop)
	var at struct{ HTTP string }
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		s.stop()
		t.Fatalf("serve said %q (%v, %v): %s", line, err, readErr, s.log)
	}
	s.url = at.HTTP
	return s
}

// quickEnd keeps the race detector from sleeping for a second at the end of every process.
const quickEnd = "GORACE=atexit_sleep_ms=0"

// patchbayIn returns patchbay as a command, with the given home and without the tester's
// environment. The program is this test binary.
func patchbayIn(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("patchbay", args...) // testscript has put it on the PATH
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", quickEnd}
	return cmd
}

// stop ends the daemon as a supervisor would.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	s.wait()
}

// kill ends the daemon with SIGKILL.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	s.wait()
}

func (s *server) wait() {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.done
		s.t.Errorf("the daemon did not end: %s", s.log)
	}
}

// call makes a request with a JSON body, or none, and decodes the answer.
func (s *server) call(method, path, body string, into any) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return resp.StatusCode
}

// turn is the answer to a message.
type turn struct {
	Text   string
	Status string
	Error  *string
	Tools  []struct {
		Name      string
		Arguments json.RawMessage
		Result    string
		Success   bool
	}
}

// say sends a message.
func (s *server) say(session, text string) (turn, int) {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		s.t.Fatal(err)
	}
	var answer turn
	status := s.call("POST", "/session/"+session+"/message", string(body), &answer)
	return answer, status
}

// session creates a session.
func (s *server) session(body string) string {
	s.t.Helper()
	var made struct{ ID string }
	if status := s.call("POST", "/session", body, &made); status != http.StatusOK {
		s.t.Fatalf("session: status %d", status)
	}
	return made.ID
}

// transcript returns every entry of a session, as `role: content` or `turn status`.
func (s *server) transcript(session string) []string {
	s.t.Helper()
	var entries []struct {
		Message *struct {
			Role, Content string
			ToolCalls     []any `json:"tool_calls"`
		}
		Status string
	}
	if status := s.call("GET", "/v1/sessions/"+session+"/transcript", "", &entries); status != http.StatusOK {
		s.t.Fatalf("transcript: status %d", status)
	}
	var lines []string
	for _, e := range entries {
		switch {
		case e.Message != nil && len(e.Message.ToolCalls) > 0:
			lines = append(lines, fmt.Sprintf("%s: %s (%d calls)", e.Message.Role, e.Message.Content, len(e.Message.ToolCalls)))
		case e.Message != nil:
			lines = append(lines, e.Message.Role+": "+e.Message.Content)
		default:
			lines = append(lines, "turn "+e.Status)
		}
	}
	return lines
}

// write writes a file in a home.
func write(t *testing.T, home, path, text string) {
	t.Helper()
	path = filepath.Join(home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
