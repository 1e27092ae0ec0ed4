package webtest

import (
	"bufio"
	"bytes"
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

// A site is a daemon with its own home.
type site struct {
	t    testing.TB
	URL  string
	Home string
	cmd  *exec.Cmd
}

// newSite starts a daemon with plugins of five dialects and an MCP server. The functions in change
// may change the home first.
func newSite(t testing.TB, change ...func(home string)) *site {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("testdata", "home"))); err != nil {
		t.Fatal(err)
	}
	copyExamples(t, home)
	addServer(t, home)
	for _, f := range change {
		f(home)
	}
	s := &site{t: t, Home: home}
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

// copyExamples adds plugins of the repository's examples to those of testdata.
func copyExamples(t testing.TB, home string) {
	t.Helper()
	for from, to := range map[string]string{
		"plugins/git-status":                          ".local/scaffold/plugins/git-status",
		"plugins/keep_secrets.py":                     ".agent/plugins/keep_secrets.py",
		"agents/plugins/dotagent-plugin-have-program": ".config/dotagent/plugins/dotagent-plugin-have-program",
	} {
		data, err := os.ReadFile(filepath.Join(repo, "examples", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, to), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// addServer writes a configuration that has the MCP server of testdata as a plugin.
func addServer(t testing.TB, home string) {
	t.Helper()
	text := fmt.Sprintf("[[mcp]]\nname = \"lamp\"\ncommand = [\"python3\", %q]\n", filepath.Join(home, ".local/share/mcp/lamp.py"))
	if err := os.WriteFile(filepath.Join(home, ".config/patchbay/config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs the daemon and waits until it says where it listens.
func (s *site) start(listen string) {
	s.t.Helper()
	s.cmd = exec.Command(binary, "serve", "--json", "--listen", listen)
	s.cmd.Dir = s.Home
	s.cmd.Env = environ(s.Home)
	var log bytes.Buffer
	s.cmd.Stderr = &log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var ready struct{ HTTP string }
		if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.HTTP != "" {
			s.URL = ready.HTTP
			go io.Copy(io.Discard, out)
			return
		}
	}
	s.cmd.Wait()
	s.t.Fatalf("the daemon did not start: %s", log.String())
}

// stop ends the daemon and waits until it is gone.
func (s *site) stop() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
	s.cmd = nil
}

// restart ends the daemon, calls between, and starts it again at the same address.
func (s *site) restart(between func()) {
	s.t.Helper()
	s.stop()
	between()
	s.start(strings.TrimPrefix(s.URL, "http://"))
}

// environ returns an environment with only the variables that programs need.
func environ(home string) []string {
	env := []string{"HOME=" + home, "USER=tester", "LANG=C.UTF-8", "TZ=UTC"}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// call sends a request to the API and decodes the answer into result, which may be nil.
func (s *site) call(method, path string, body, result any) {
	s.t.Helper()
	status, data := s.do(method, path, body, nil)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, data)
	}
	if result != nil {
		if err := json.Unmarshal(data, result); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, data)
		}
	}
}

// do sends a request with these headers and returns the answer, even an error.
func (s *site) do(method, path string, body any, headers map[string]string) (int, []byte) {
	s.t.Helper()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequest(method, s.URL+path, content)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, data
}

// write writes a file in the home.
func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// eventually waits at most a minute until the condition is true.
func eventually(t testing.TB, what string, true_ func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if true_() {
			return
		}
	}
	t.Fatalf("timed out after a minute of waiting: %s", what)
}
