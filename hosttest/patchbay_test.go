//go:build linux

package hosttest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// patience limits every wait.
const patience = time.Minute

// withPatchbay copies Patchbay's programs to the stage and installs its hooks in the agent's
// config.
func (s *stage) withPatchbay() {
	s.Helper()
	for _, name := range []string{"patchbay", "patchbay-hook", "patchbay-jail"} {
		s.copyProgram(filepath.Join("..", "bin", name), s.program(name))
	}
	s.Cleanup(s.endDaemon)
	s.installHooks()
}

// program returns the path of one of Patchbay's programs on this stage, where it can be removed.
func (s *stage) program(name string) string { return filepath.Join(s.home, ".local", "bin", name) }

func (s *stage) copyProgram(from, to string) {
	s.Helper()
	s.mkdir(filepath.Dir(to))
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from) // it is on another file system
	if err != nil {
		s.Fatalf("%v: make test-hosts builds it", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		s.Fatal(err)
	}
	if err := out.Close(); err != nil {
		s.Fatal(err)
	}
}

// installHooks installs Patchbay's hooks for the agent's events.
func (s *stage) installHooks() {
	s.Helper()
	args := []string{"hook", "install", s.product.name}
	if s.product == codex {
		args = append(args, "--trust")
	}
	s.patchbay(args...)
	s.installed = true
}

// patchbay runs the command with the stage's home directory, and returns its output.
func (s *stage) patchbay(args ...string) string {
	s.Helper()
	cmd := exec.Command(s.program("patchbay"), args...)
	cmd.Dir = s.project
	cmd.Env = s.environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.Fatalf("patchbay %s: %v: %s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String()
}

// daemon sends a request to the daemon's socket and returns the answer.
func (s *stage) daemon(path string) string {
	s.Helper()
	socket := filepath.Join(s.home, ".local", "state", "patchbay", "patchbay.sock")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	resp, err := client.Get("http://localhost" + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.Fatalf("%s: %s: %v: %s", path, resp.Status, err, body)
	}
	return string(body)
}

// configure appends to Patchbay's config.
func (s *stage) configure(text string) {
	s.Helper()
	path := filepath.Join(s.home, ".config", "patchbay", "config.toml")
	before, _ := s.read(path)
	s.write(path, before+text+"\n")
}

// plugin installs one of our plugins in the plugin directory of its dialect; files of the python
// dialect end in .py. The strings in replace are pairs: a word of the plugin's text, and its
// replacement.
func (s *stage) plugin(name string, replace ...string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "plugins", name))
	if err != nil {
		s.Fatal(err)
	}
	s.writePlugin(name, strings.NewReplacer(replace...).Replace(string(text)))
}

func (s *stage) writePlugin(name, text string) {
	s.Helper()
	path := filepath.Join(s.home, ".local", "scaffold", "plugins", name)
	if filepath.Ext(name) == ".py" {
		path = filepath.Join(s.home, ".agent", "plugins", name)
	}
	s.write(path, text)
	if err := os.Chmod(path, 0o700); err != nil {
		s.Fatal(err)
	}
}

// documentPlugins installs three plugins from the protocol documents: the shell blocker, the audit
// logger and the git context.
func (s *stage) documentPlugins() {
	s.Helper()
	s.writePlugin("shell_blocker.py", printed(s, "004", "Shell Blocker Plugin"))
	s.writePlugin("audit-logger", printed(s, "003", "Python: audit logger"))
	s.writePlugin("git-context", printed(s, "003", "Python: git context plugin"))
}

// printed returns the Python program under a heading of a document.
func printed(t testing.TB, number, heading string) string {
	t.Helper()
	blocks := plugtest.Seed(t, number).Blocks("python")
	i := slices.IndexFunc(blocks, func(b plugtest.Block) bool { return b.Heading == heading })
	if i < 0 {
		t.Fatalf("the document prints no program under %q", heading)
	}
	return blocks[i].Text
}

// daemons returns the process ids of the daemons that hooks on this stage have started.
func (s *stage) daemons() []int { return s.processes(s.isDaemon) }

// processes returns the ids of all processes that match accepts.
func (s *stage) processes(match func(pid int) bool) []int {
	s.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && match(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isDaemon reports whether a process is `patchbay hook daemon` or `patchbay serve`, started from
// this stage's directory.
func (s *stage) isDaemon(pid int) bool {
	args := argv(pid)
	return args[0] == s.program("patchbay") && (slices.Contains(args, "daemon") || slices.Contains(args, "serve"))
}

// isOurs reports whether a process is one of Patchbay's programs, started from this stage's
// directory.
func (s *stage) isOurs(pid int) bool {
	return filepath.Dir(argv(pid)[0]) == filepath.Dir(s.program("patchbay"))
}

// argv returns the command line of a process, or one empty word if it is gone.
func argv(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return []string{""}
	}
	return strings.Split(string(text), "\x00")
}

// killDaemon kills every daemon of this stage; there must be one.
func (s *stage) killDaemon() {
	s.Helper()
	pids := s.daemons()
	if len(pids) == 0 {
		s.Error("no daemon runs")
	}
	s.kill(pids, syscall.SIGKILL)
}

// endDaemon ends the processes that hooks have left running. A hook may outlive its agent and start
// another daemon, so endDaemon waits for hooks too.
func (s *stage) endDaemon() {
	s.await("the end of every hook", func() bool {
		s.kill(s.daemons(), syscall.SIGTERM)
		return len(s.processes(s.isOurs)) == 0
	})
}

func (s *stage) kill(pids []int, how syscall.Signal) {
	s.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, how); err != nil && err != syscall.ESRCH {
			s.Error(err)
		}
		s.await("the daemon's end", func() bool { return !s.isDaemon(pid) })
	}
}

// await waits until ok is true.
func (s *stage) await(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Errorf("timed out waiting for %s", what) // not Fatal: the model's goroutine also waits here
			return
		}
	}
}
