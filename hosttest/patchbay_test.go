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

// patience bounds every wait for something that is bound to happen.
const patience = time.Minute

// withPatchbay puts Patchbay's programs on the stage and its hooks into the agent's config.
func (s *stage) withPatchbay() {
	s.Helper()
	for _, name := range []string{"patchbay", "patchbay-hook", "patchbay-jail"} {
		s.copyProgram(filepath.Join("..", "bin", name), s.program(name))
	}
	s.Cleanup(s.endDaemon)
	s.installHooks()
}

// program is where a program of Patchbay's lies on this stage, where it can be removed.
func (s *stage) program(name string) string { return filepath.Join(s.home, ".local", "bin", name) }

func (s *stage) copyProgram(from, to string) {
	s.Helper()
	s.mkdir(filepath.Dir(to))
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from) // another file system
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

// installHooks has Patchbay asked at the agent's events.
func (s *stage) installHooks() {
	s.Helper()
	args := []string{"hook", "install", s.product.name}
	if s.product == codex {
		args = append(args, "--trust")
	}
	s.patchbay(args...)
	s.installed = true
}

// patchbay runs the command as the person whose home directory it is, and returns what it printed.
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

// daemon asks the daemon, over its socket, and returns the answer.
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

// plugin puts a plugin of ours where its dialect is searched for: files of the python dialect end
// in .py. Each pair of replace is a word in its text and what stands there instead.
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

// documentPlugins installs three plugins as the protocol documents print them: the shell blocker,
// the audit logger and the git context.
func (s *stage) documentPlugins() {
	s.Helper()
	s.writePlugin("shell_blocker.py", printed(s, "004", "Shell Blocker Plugin"))
	s.writePlugin("audit-logger", printed(s, "003", "Python: audit logger"))
	s.writePlugin("git-context", printed(s, "003", "Python: git context plugin"))
}

// printed is the Python program under a heading of a document.
func printed(t testing.TB, number, heading string) string {
	t.Helper()
	blocks := plugtest.Seed(t, number).Blocks("python")
	i := slices.IndexFunc(blocks, func(b plugtest.Block) bool { return b.Heading == heading })
	if i < 0 {
		t.Fatalf("the document prints no program under %q", heading)
	}
	return blocks[i].Text
}

// daemons are the process ids of the daemons that hooks on this stage have started.
func (s *stage) daemons() []int { return s.processes(s.isDaemon) }

// processes are the ids of all processes that are so.
func (s *stage) processes(are func(pid int) bool) []int {
	s.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && are(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isDaemon reports whether a process is `patchbay hook daemon` or `patchbay serve` out of this
// stage's directory.
func (s *stage) isDaemon(pid int) bool {
	args := argv(pid)
	return args[0] == s.program("patchbay") && (slices.Contains(args, "daemon") || slices.Contains(args, "serve"))
}

// isOurs reports whether a process is one of Patchbay's programs out of this stage's directory.
func (s *stage) isOurs(pid int) bool {
	return filepath.Dir(argv(pid)[0]) == filepath.Dir(s.program("patchbay"))
}

// argv is the command line of a process; of one that is gone, an empty one.
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

// endDaemon ends what hooks have left running. A hook may outlive its agent and start another
// daemon: it is waited for.
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
			s.Errorf("waited in vain for %s", what) // not Fatal: the model's goroutine waits too
			return
		}
	}
}
