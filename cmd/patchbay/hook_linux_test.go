package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// mainHook is the main function of patchbay-hook, in this test's executable.
func mainHook() {
	os.Exit(hookclient.Main(context.Background(), os.Args[1:],
		hookclient.Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()}))
}

// A hookHome is a home with plugins and two projects.
type hookHome struct {
	t    *testing.T
	home string
}

// guardPlugin is a scaffold plugin that refuses commands with "rm -rf". Its reason names its
// directory and its process.
const guardPlugin = `#!/usr/bin/env python3
import json, os, sys, time
asked = 0
for line in sys.stdin:
    r = json.loads(line)
    m, p = r["method"], r.get("params") or {}
    if m == "initialize":
        out = {"name": "guard", "version": "1.0.0", "description": "guards", "hooks": ["pre_tool_execute", "post_user_input"]}
    elif m == "hook/pre_tool_execute":
        asked += 1
        args = p["arguments"]
        if "HANG" in args:
            time.sleep(600)
        if "rm -rf" in args:
            out = {"action": "stop", "result": "guard says no in " + os.path.basename(os.getcwd()) + " pid " + str(os.getpid())}
        elif "REWRITE" in args:
            out = {"action": "continue", "arguments": args.replace("REWRITE", "rewritten by guard")}
        else:
            out = {"action": "continue"}
    elif m == "hook/post_user_input":
        out = {"action": "continue"}
    else:
        out = {"ok": True}
    print(json.dumps({"jsonrpc": "2.0", "id": r["id"], "result": out}), flush=True)
`

// newHookHome makes a home with two projects.
func newHookHome(t *testing.T) *hookHome {
	t.Helper()
	plugtest.NeedTool(t, "python3")
	home, err := os.MkdirTemp("", "pbhook") // short, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	h := &hookHome{t, home}
	for _, dir := range []string{"one/.git", "two/.git"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		h.endDaemon()
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hookHome) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

// installGuard installs the guard, with a configuration.
func (h *hookHome) installGuard(config string) {
	h.t.Helper()
	h.write(".local/scaffold/plugins/guard", guardPlugin, 0o755)
	if config != "" {
		h.write(".config/patchbay/config.toml", config, 0o600)
	}
}

// awaitGuard waits until the guard has answered in a project. On a busy machine the guard may start
// too slowly, and is then left out at first.
func (h *hookHome) awaitGuard(project string) {
	h.t.Helper()
	h.until("the guard answers", func() bool {
		got := h.ask(project, "PreToolUse", h.preToolUse(project, "first", "rm -rf /"))
		return strings.Contains(got.stdout, "guard says no in "+project)
	})
}

// stopDaemon makes the daemon hang. Its threads stop one after another, so it waits for the last.
func (h *hookHome) stopDaemon() {
	h.t.Helper()
	pid := h.daemon()
	if pid <= 1 {
		h.t.Fatal("there is no daemon")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	h.until("the daemon stands still", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			status, err := os.ReadFile(thread)
			return err == nil && !strings.Contains(string(status), "State:\tT")
		})
	})
}

const closedGuard = "[plugins.guard]\non_failure = \"deny\"\ntimeout = \"2s\"\n"

func (h *hookHome) state(name string) string {
	return filepath.Join(h.home, ".local", "state", "patchbay", name)
}

// preToolUse returns an event of Claude Code.
func (h *hookHome) preToolUse(project, session, command string) string {
	text, err := json.Marshal(map[string]any{"session_id": session, "prompt_id": "p-" + session, "hook_event_name": "PreToolUse",
		"transcript_path": "/x", "cwd": filepath.Join(h.home, project), "tool_name": "Bash", "tool_input": map[string]any{"command": command}, "tool_use_id": "t-" + command})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// A hookAnswer is the answer of a hook to its agent.
type hookAnswer struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

func (s hookAnswer) denied() bool { return strings.Contains(s.stdout, `"permissionDecision":"deny"`) }
func (s hookAnswer) silent() bool { return s.stdout == "" && s.code == 0 }

// ask runs patchbay-hook as Claude Code does.
func (h *hookHome) ask(project, event, input string, environ ...string) hookAnswer {
	h.t.Helper()
	return h.askBy("patchbay-hook", []string{"claude", "--event", event}, project, input, environ...)
}

func (h *hookHome) askBy(program string, args []string, project, input string, environ ...string) hookAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(h.home, project)
	cmd.Env = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=the-agents-key", quickEnd}, environ...)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.t.Errorf("%s: %v", program, err)
	}
	return hookAnswer{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
}

// call sends a request to the daemon on the socket.
func (h *hookHome) call(path string, into any) error {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.state("patchbay.sock"))
		}}}
	resp, err := client.Get("http://patchbay" + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// daemon returns the process that listens on the socket; 0: none.
func (h *hookHome) daemon() int {
	conn, err := net.Dial("unix", h.state("patchbay.sock"))
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		h.t.Fatal(err)
	}
	pid := 0
	if err := raw.Control(func(fd uintptr) { pid = peerPID(int(fd)) }); err != nil {
		h.t.Fatal(err)
	}
	return pid
}

// endDaemon ends the daemon, if there is one, and waits until it is gone.
func (h *hookHome) endDaemon() {
	pid := h.daemon()
	if pid <= 1 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
	_ = syscall.Kill(pid, syscall.SIGTERM)
	h.gone(pid)
}

func (h *hookHome) gone(pid int) {
	h.t.Helper()
	h.until("the daemon ends", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) })
}

// zombie reports whether a process has ended, but its parent has not waited for it. In a container
// there may be no process that waits for orphans.
func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(text), ") Z ")
}

func (h *hookHome) until(what string, is func() bool) {
	h.t.Helper()
	for until := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			h.t.Fatalf("timed out waiting: %s", what)
		}
	}
}

func (h *hookHome) log() []hookclient.Entry {
	h.t.Helper()
	entries, err := hookclient.ReadLog(filepath.Dir(h.state("x")))
	if err != nil {
		h.t.Fatal(err)
	}
	return entries
}

// TestHooksOfTwoProjects: one daemon, started by the first hook, runs the plugins for both
// projects, each in its own repository.
func TestHooksOfTwoProjects(t *testing.T) {
	h := newHookHome(t)
	h.installGuard("")
	h.write(".agent/plugins/notes.py", `__plugin__ = {"api": "1.0", "name": "notes"}
@on_tool_call
async def seen(ctx, call):
    ctx.state["calls"] = ctx.state.get("calls", 0) + 1
    if "count" in str(call.input):
        return ToolCall(call.tool_name, call.tool_call_id, {"cmd": "echo calls=" + str(ctx.state["calls"])})
`, 0o600)
	var daemons []int
	pids := map[string]bool{}
	for _, project := range []string{"one", "two", "one"} {
		got := h.ask(project, "PreToolUse", h.preToolUse(project, "s-"+project, "rm -rf /"))
		if !got.denied() || !strings.Contains(got.stdout, "guard says no in "+project) {
			t.Fatalf("in %s: %+v", project, got)
		}
		_, pid, _ := strings.Cut(got.stdout, " pid ")
		pids[project+pid[:4]] = true
		daemons = append(daemons, h.daemon())
	}
	if daemons[0] == 0 || daemons[0] != daemons[1] || daemons[1] != daemons[2] {
		t.Errorf("want exactly one daemon, got %v", daemons)
	}
	if len(pids) != 2 {
		t.Errorf("plugins did not stay warm: %v", pids)
	}
	t.Run("a call is rewritten as a whole", func(t *testing.T) {
		got := h.ask("one", "PreToolUse", h.preToolUse("one", "s-one", "echo REWRITE"))
		if !strings.Contains(got.stdout, `"updatedInput":{"command":"echo rewritten by guard"}`) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a python plugin keeps its state during the agent's turn", func(t *testing.T) {
		got := h.ask("one", "PreToolUse", h.preToolUse("one", "s-one", "count"))
		if !strings.Contains(got.stdout, "echo calls=4") { // the number of the session's calls so far
			t.Errorf("%+v", got)
		}
	})
	t.Run("the session is listed with a title, and so are its traces", func(t *testing.T) {
		prompt := fmt.Sprintf(`{"session_id":"s-one","prompt_id":"p9","hook_event_name":"UserPromptSubmit","transcript_path":"/x","cwd":%q,"prompt":"fix the gate"}`,
			filepath.Join(h.home, "one"))
		if got := h.ask("one", "UserPromptSubmit", prompt); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		h.until("the session has a title", func() bool {
			var sessions []struct {
				ID, Host, Title string
				HostSession     string `json:"host_session"`
			}
			if err := h.call("/v1/sessions", &sessions); err != nil {
				t.Fatal(err)
			}
			for _, s := range sessions {
				if s.Host == "claude" && s.HostSession == "s-one" && s.Title == "fix the gate" {
					return len(sessions) == 2
				}
			}
			return false
		})
		var page struct {
			Traces []struct {
				Turn    string
				Outcome struct{ Point, Verdict string }
			}
		}
		h.until("the traces are stored", func() bool {
			if err := h.call("/v1/traces?limit=1000", &page); err != nil {
				t.Fatal(err)
			}
			return len(page.Traces) >= 4
		})
	})
	t.Run("the agent's keys stay out of the daemon", func(t *testing.T) {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.daemon()))
		if err != nil {
			t.Skip("the environment of a process cannot be read here: ", err)
		}
		if bytes.Contains(environ, []byte("the-agents-key")) {
			t.Errorf("%q", environ)
		}
	})
	t.Run("it listens on no port", func(t *testing.T) {
		if ports := listens(t, h.daemon()); len(ports) != 0 {
			t.Errorf("%v", ports)
		}
		s := serve(t, newHookHome(t).home)
		if ports := listens(t, s.cmd.Process.Pid); len(ports) != 1 {
			t.Errorf("the daemon listens on %v", ports)
		}
	})
	t.Run("a hook that is switched off does nothing", func(t *testing.T) {
		if got := h.ask("one", "PreToolUse", h.preToolUse("one", "s-one", "rm -rf /"), "PATCHBAY_HOOK=off"); !got.silent() {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a killed daemon is started again", func(t *testing.T) {
		pid := h.daemon()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.gone(pid)
		if got := h.ask("two", "PreToolUse", h.preToolUse("two", "s-two", "rm -rf /")); !strings.Contains(got.stdout, "guard says no in two") {
			t.Errorf("%+v", got)
		}
		if now := h.daemon(); now == 0 || now == pid {
			t.Errorf("the daemon is %d, and was %d", now, pid)
		}
	})
	t.Run("patchbay hook gives the same answer", func(t *testing.T) {
		got := h.askBy("patchbay", []string{"hook", "claude", "--event", "PreToolUse"}, "one", h.preToolUse("one", "s-one", "rm -rf /"))
		if !strings.Contains(got.stdout, "guard says no in one") {
			t.Errorf("%+v", got)
		}
	})
}

// listens returns the lines of the kernel's tables about TCP sockets on which a process listens.
func listens(t *testing.T, pid int) []string {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("no descriptors: %v", err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil {
			own[strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // this machine has no such protocol
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && own[f[9]] {
				found = append(found, line)
			}
		}
	}
	return found
}

// TestAProjectBringsNoPlugins: the plugins in a repository do not run just because an agent works
// there.
func TestAProjectBringsNoPlugins(t *testing.T) {
	h := newHookHome(t)
	for _, dir := range []string{".patchbay/plugins", ".local/scaffold/plugins", ".patchbay/scaffold/plugins"} {
		h.write("one/"+dir+"/guard", guardPlugin, 0o755)
	}
	h.write("one/.agent/plugins/evil.py", "open('"+h.home+"/evil','w').close()\n", 0o600)
	h.write("one/.patchbay/plugins/evil.py", "open('"+h.home+"/evil','w').close()\n", 0o600)
	if got := h.ask("one", "PreToolUse", h.preToolUse("one", "s", "rm -rf /")); !got.silent() {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(filepath.Join(h.home, "evil")); err == nil {
		t.Error("a plugin of the project was run")
	}
	var plugins []any
	if err := h.call("/v1/plugins", &plugins); err != nil || len(plugins) != 0 {
		t.Errorf("%v %v", plugins, err)
	}
}

// TestNoDaemonCanBeStarted: there is no daemon, and none can be started. Events for plugins that
// must agree are refused, and all others continue.
func TestNoDaemonCanBeStarted(t *testing.T) {
	// alone makes a directory that contains only patchbay-hook. Without patchbay, no daemon can be
	// started, and patchbay cannot answer in its place.
	alone := func(t *testing.T) string {
		dir := t.TempDir()
		self, err := exec.LookPath("patchbay-hook")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "patchbay-hook")
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	claude := []string{"claude", "--event", "PreToolUse"}
	t.Run("no daemon, and a plugin with on_failure = deny", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard(closedGuard)
		h.awaitGuard("one")
		h.endDaemon()
		got := h.askBy(alone(t), claude, "one", h.preToolUse("one", "s", "ls"), "PATH=/nonexistent")
		if !got.denied() || !strings.Contains(got.stdout, "plugin guard") || !strings.Contains(got.stdout, "PATCHBAY_HOOK=off") ||
			!strings.Contains(got.stdout, "patchbay hook install claude --uninstall") {
			t.Errorf("%+v", got)
		}
		if log := h.log(); len(log) != 1 || log[0].What != hookclient.Denied || log[0].Event != "PreToolUse" || log[0].Session != "s" {
			t.Errorf("%+v", log)
		}
		if info, err := os.Stat(h.state(hookclient.ClosedName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	})
	t.Run("no daemon, and a plugin without on_failure", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard("")
		h.ask("one", "PreToolUse", h.preToolUse("one", "s", "ls"))
		h.endDaemon()
		if got := h.askBy(alone(t), claude, "one", h.preToolUse("one", "s", "rm -rf /"), "PATH=/nonexistent"); !got.silent() {
			t.Errorf("%+v", got)
		}
		if log := h.log(); len(log) != 1 || log[0].What != hookclient.NoOpinion {
			t.Errorf("%+v", log)
		}
	})
	t.Run("a damaged list of plugins that must agree", func(t *testing.T) {
		h := newHookHome(t)
		h.write(".local/state/patchbay/"+hookclient.ClosedName, `{"version":`, 0o600)
		if got := h.askBy(alone(t), claude, "one", h.preToolUse("one", "s", "ls"), "PATH=/nonexistent"); !got.denied() || !strings.Contains(got.stdout, hookclient.ClosedName) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no list, and no plugin that must agree", func(t *testing.T) {
		h := newHookHome(t)
		if got := h.askBy(alone(t), claude, "one", h.preToolUse("one", "s", "ls"), "PATH=/nonexistent"); !got.silent() {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no list, and a configuration with on_failure = deny", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard(closedGuard)
		if got := h.askBy(alone(t), claude, "one", h.preToolUse("one", "s", "ls"), "PATH=/nonexistent"); !got.denied() {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a daemon that cannot listen: patchbay answers in process", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard("")
		h.write(".local/state/patchbay/patchbay.sock", "not a socket", 0o600)
		if got := h.ask("two", "PreToolUse", h.preToolUse("two", "s", "rm -rf /")); !strings.Contains(got.stdout, "guard says no in two") {
			t.Errorf("%+v", got)
		}
		if got := h.askBy("patchbay", append([]string{"hook"}, claude...), "one", h.preToolUse("one", "s", "rm -rf /")); !strings.Contains(got.stdout, "guard says no in one") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("an event that cannot be read", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard(closedGuard)
		h.awaitGuard("one")
		if got := h.ask("one", "PreToolUse", "{ this is no event"); !got.denied() {
			t.Errorf("%+v", got)
		}
		if got := h.ask("one", "SessionEnd", "{ this is no event"); !got.silent() {
			t.Errorf("%+v", got)
		}
	})
}

// TestHangingHooks: patchbay-hook answers in time, whichever process hangs.
func TestHangingHooks(t *testing.T) {
	t.Parallel()
	t.Run("a plugin", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard("[plugins.guard]\ntimeout = \"1s\"\n")
		h.awaitGuard("one")
		if got := h.ask("one", "PreToolUse", h.preToolUse("one", "s", "HANG")); !got.silent() {
			t.Errorf("a plugin without on_failure: %+v", got)
		}
	})
	t.Run("a plugin that must agree", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard(closedGuard)
		h.awaitGuard("one")
		if got := h.ask("one", "PreToolUse", h.preToolUse("one", "s", "HANG")); !got.denied() || !strings.Contains(got.stdout, "guard") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a daemon, at an event with a short time limit", func(t *testing.T) {
		h := newHookHome(t)
		h.installGuard(closedGuard)
		h.awaitGuard("one")
		h.stopDaemon()
		end := fmt.Sprintf(`{"session_id":"s","hook_event_name":"SessionEnd","cwd":%q,"reason":"other"}`, filepath.Join(h.home, "one"))
		got := h.ask("one", "SessionEnd", end)
		if !got.silent() {
			t.Errorf("%+v", got)
		}
		t.Logf("SessionEnd was given up after %v", got.took)
		if log := h.log(); len(log) != 1 || log[0].What != hookclient.NoOpinion || log[0].Event != "SessionEnd" {
			t.Errorf("%+v", log)
		}
	})
	t.Run("a daemon, and a plugin that must agree", func(t *testing.T) {
		t.Parallel() // it waits
		if testing.Short() {
			t.Skip("it takes the minute that an agent waits")
		}
		h := newHookHome(t)
		h.installGuard(closedGuard)
		h.awaitGuard("one")
		h.stopDaemon()
		got := h.ask("one", "PreToolUse", h.preToolUse("one", "s", "ls"))
		if !got.denied() || !strings.Contains(got.stdout, "plugin guard") {
			t.Errorf("%+v", got)
		}
		t.Logf("PreToolUse was given up after %v", got.took)
	})
}

// TestServeTakesOver: while `serve` replaces the daemon that hooks have started, parallel events
// all get the right answer.
func TestServeTakesOver(t *testing.T) {
	h := newHookHome(t)
	h.installGuard("")
	h.ask("one", "PreToolUse", h.preToolUse("one", "s", "ls")) // starts the daemon
	first := h.daemon()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var mu sync.Mutex
	answers := 0
	for worker := range 4 {
		asking.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				project := []string{"one", "two"}[(i+worker)%2]
				got := h.ask(project, "PreToolUse", h.preToolUse(project, fmt.Sprintf("s%d", worker), "rm -rf /"))
				if !strings.Contains(got.stdout, "guard says no in "+project) {
					t.Errorf("worker %d, event %d: %+v", worker, i, got)
				}
				mu.Lock()
				answers++
				mu.Unlock()
			}
		})
	}
	s := serve(t, h.home)
	if now := h.daemon(); now != s.cmd.Process.Pid {
		t.Errorf("process %d listens on the socket, not serve (%d)", now, s.cmd.Process.Pid)
	}
	h.gone(first)
	mu.Lock()
	before := answers
	mu.Unlock()
	h.until("events are answered by serve", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answers > before+8
	})
	s.stop() // without it, the next hook starts a daemon again
	mu.Lock()
	before = answers
	mu.Unlock()
	h.until("events are answered by a daemon that a hook has started", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answers > before+8
	})
	close(stop)
	asking.Wait()
	if log := h.log(); len(log) != 0 {
		t.Errorf("events were given up: %+v", log)
	}
	t.Logf("%d events", answers)
}
