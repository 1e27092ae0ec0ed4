package hookclient

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestResponses(t *testing.T) {
	for _, c := range []struct {
		rule, text string
		status     int
		body       string
		err        error // wrapped
	}{
		{"with a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, "{}", nil},
		{"in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 200, "{}", nil},
		{"to the end of the connection", "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n{}", 403, "{}", nil},
		{"cut off in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", 0, "", io.ErrUnexpectedEOF},
		{"cut off in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", 0, "", io.ErrUnexpectedEOF},
		{"cut off in the header", "HTTP/1.1 200 OK\r\nContent", 0, "", io.ErrUnexpectedEOF},
		{"nothing", "", 0, "", io.ErrUnexpectedEOF},
	} {
		status, body, err := readResponse(bufio.NewReader(strings.NewReader(c.text)))
		if !errors.Is(err, c.err) || err == nil && (status != c.status || string(body) != c.body) {
			t.Errorf("%s: %d %q %v", c.rule, status, body, err)
		}
	}
	for _, garbage := range []string{"SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", maxHeader)} {
		if status, body, err := readResponse(bufio.NewReader(strings.NewReader(garbage))); err == nil {
			t.Errorf("%.40q: %d %q", garbage, status, body)
		}
	}
}

func FuzzResponse(tf *testing.F) {
	f := variants.Of(tf)
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	f.Add("HTTP/1.1 503 X\r\nContent-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		_, body, err := readResponse(bufio.NewReader(strings.NewReader(text)))
		if err == nil && len(body) > len(text) {
			t.Errorf("%d bytes out of %d", len(body), len(text))
		}
	})
}

func TestRequestsKeepWhatTheAgentWrote(t *testing.T) {
	for _, data := range []string{`{"a":1}`, `{ garbled`, "", "\xff\x00", `"a string"`} {
		text, err := json.Marshal(NewRequest(codehook.Input{Data: []byte(data)}, "1"))
		if err != nil || !json.Valid(text) {
			t.Errorf("%q: %s %v", data, text, err)
		}
	}
}

// TestCleanedEnvironment: only allowed variables are passed on, without secrets and without the
// project's directories.
func TestCleanedEnvironment(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := cleanEnviron([]string{"HOME=" + home, "ANTHROPIC_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "GITHUB_TOKEN=t", "LD_PRELOAD=x", "PYTHONPATH=x", "LC_ALL=C",
		"PATCHBAY_HOME=/p", "PATCHBAY_MODEL=m", "broken",
		"PATH=" + strings.Join([]string{"/usr/bin", "bin", project + "/node_modules/.bin", project, "", home + "/bin"}, ":"),
		"SCAFFOLD_HOME=" + project + "/plugins"}, project)
	want := []string{"HOME=" + home, "LC_ALL=C", "PATCHBAY_HOME=/p", "PATH=/usr/bin:" + home + "/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTheLogIsLimited(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	e := Entry{Time: time.Now(), Agent: codehook.Claude, Event: "PreToolUse", What: NoOpinion, Why: strings.Repeat("x", 5000)}
	for i := range 1000 {
		e.Session = fmt.Sprint(i)
		if err := e.Append(state); err != nil {
			t.Fatal(err)
		}
	}
	var all int64
	files, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f.Name(), info.Mode())
		}
		all += info.Size()
	}
	entries, err := ReadLog(state)
	if err != nil || len(files) != 2 || all > 2*maxLog+4096 || entries[len(entries)-1].Session != "999" {
		t.Errorf("%d files, %d bytes, %d entries, %v", len(files), all, len(entries), err)
	}
}

// TestTheLogHasWholeCharacters: a long reason is not cut inside a character.
func TestTheLogHasWholeCharacters(t *testing.T) {
	state := t.TempDir()
	if err := (Entry{What: NoOpinion, Why: "x" + strings.Repeat("ü", maxWhy)}).Append(state); err != nil {
		t.Fatal(err)
	}
	entries, err := ReadLog(state)
	if want := "x" + strings.Repeat("ü", (maxWhy-1)/2); err != nil || len(entries) != 1 || entries[0].Why != want {
		t.Errorf("%+v, %v", entries, err)
	}
}

// TestClosedThatCannotBeReplaced: an old file does not stay if the new one cannot be written.
func TestClosedThatCannotBeReplaced(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, ClosedName), 0o700); err != nil { // no file can take its place
		t.Fatal(err)
	}
	if err := (Closed{Points: ByPoint{hook.ToolBefore: {"a"}}}).Write(state); err == nil {
		t.Error("no error")
	}
	if _, err := ReadClosed(state); !errors.Is(err, ErrNoClosed) {
		t.Errorf("read: %v", err)
	}
}

// TestClosed: the file is read as it was written, and any other content is an error.
func TestClosed(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if _, err := ReadClosed(state); !errors.Is(err, ErrNoClosed) {
		t.Errorf("none: %v", err)
	}
	c := Closed{Points: ByPoint{hook.ToolBefore: {"a", "b"}, hook.TurnInput: {"a"}}, Projects: map[string]ByPoint{"/open": {}}}
	if err := c.Write(state); err != nil {
		t.Fatal(err)
	}
	got, err := ReadClosed(state)
	if err != nil {
		t.Fatal(err)
	}
	if names := got.At("/x", []hook.Point{hook.TurnInput, hook.ToolBefore}); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v", names)
	}
	if names := got.At("/open", []hook.Point{hook.ToolBefore}); names != nil {
		t.Errorf("a project where nothing is closed: %v", names)
	}
	files, err := filepath.Glob(filepath.Join(state, ".*"))
	if err != nil || len(files) != 0 {
		t.Errorf("left behind: %v %v", files, err)
	}
	for _, text := range []string{"", "{}", `{"version":2,"points":{}}`, `{"version":1}`, `[]`} {
		if err := os.WriteFile(filepath.Join(state, ClosedName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadClosed(state); err == nil || errors.Is(err, ErrNoClosed) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestLines: one process answers events in parallel, and the daemon may be replaced in between.
func TestLines(t *testing.T) {
	home, err := os.MkdirTemp("", "pbhook")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	state := filepath.Join(home, ".local", "state", "patchbay")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	together := make(chan struct{}, 2) // two requests in progress at once
	daemon := func(name string) func() {
		l, err := net.Listen("unix", filepath.Join(state, SocketName))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			together <- struct{}{}
			for until := time.Now().Add(time.Minute); len(together) < 2 && time.Now().Before(until); {
				time.Sleep(time.Millisecond)
			}
			var in struct{ Input struct{ ID int } }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/hooks/opencode" {
				t.Errorf("%s: %v", r.URL.Path, err)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"stdout": fmt.Sprintf("{\"id\":%d,\"by\":%q}\n", in.Input.ID, name)})
		})}
		go server.Serve(l)
		return func() { server.Close() }
	}
	in, write := io.Pipe()
	out := bufio.NewReader(nil)
	read, toTest := io.Pipe()
	out.Reset(read)
	ended := make(chan error, 1)
	go func() {
		ended <- Lines(t.Context(), Options{Agent: codehook.OpenCode, In: in, Out: toTest, Environ: []string{"HOME=" + home}, Dir: home, Program: "/nonexistent"})
	}()
	for round, name := range []string{"first", "second"} {
		end := daemon(name)
		var sending sync.WaitGroup
		sending.Go(func() {
			for i := range 2 {
				fmt.Fprintf(write, `{"id":%d,"event":"tool.execute.before","input":{"tool":"bash","sessionID":"s","callID":"c%d"},"output":{"args":{"command":"ls"}}}`+"\n", 10*round+i, i)
			}
		})
		got := map[int]bool{}
		for range 2 {
			line, err := out.ReadString('\n')
			var a struct {
				ID int
				By string
			}
			if err != nil || json.Unmarshal([]byte(line), &a) != nil || a.By != name {
				t.Fatalf("%q %v", line, err)
			}
			got[a.ID] = true
		}
		sending.Wait()
		if !got[10*round] || !got[10*round+1] {
			t.Errorf("answers to %v", got)
		}
		for len(together) > 0 {
			<-together
		}
		end()
	}
	write.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
