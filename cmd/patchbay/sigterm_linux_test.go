package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestOneSIGTERMEndsEachCommand: one SIGTERM ends a command, whatever it waits for.
func TestOneSIGTERMEndsEachCommand(t *testing.T) {
	for _, c := range []struct {
		rule  string
		args  []string
		stdin bool // stdin has input and stays open
		pipe  bool // the named pipe in the home is open for writing
		ready func(home string, cmd *exec.Cmd) bool
	}{
		{rule: "JSON on stdin", args: []string{"fire", "turn.input", "--data", "-"}, stdin: true},
		{rule: "arguments on stdin", args: []string{"tool", "call", "x", "--args", "-"}, stdin: true},
		{rule: "a prompt on stdin", args: []string{"chat", "-p", "-"}, stdin: true},
		{rule: "events on stdin", args: []string{"fire", "--events", "-"}, stdin: true},
		{rule: "a pipe without a writer", args: []string{"fire", "turn.input", "--data", "@pipe"}, pipe: true},
		{rule: "a pipe that is not open", args: []string{"fire", "turn.input", "--data", "@pipe"}, ready: inOpen},
		{rule: "events from a pipe that is not open", args: []string{"fire", "--events", "pipe"}, ready: inOpen},
		{rule: "a plugin that does not start", args: []string{"plugin", "list", "--dialect", "scaffold"}, ready: marked},
		{rule: "a plugin that does not start, in chat -p", args: []string{"chat", "-p", "hi"}, ready: marked},
		{rule: "a hook before a program", args: []string{"run", "--dialect", "mine", "--", "touch", "ran"}, ready: marked},
		{rule: "an agent", args: []string{"job", "run", "hangs", "--dialect", "mine"}, ready: marked},
		{rule: "a daemon whose plugin does not start", args: []string{"serve", "--listen", "127.0.0.1:0"}, ready: marked},
	} {
		t.Run(c.rule, func(t *testing.T) {
			home := t.TempDir()
			if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			hangingPlugins(t, home)
			cmd := patchbayIn(home, c.args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			ready := func() bool { return c.ready != nil && c.ready(home, cmd) }
			if c.stdin {
				read, write, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer write.Close()
				defer read.Close()
				fmt.Fprint(write, "{")
				cmd.Stdin = read
				ready = func() bool { return unread(t, read) == 0 }
			}
			start(t, cmd)
			if c.pipe {
				ready = func() bool {
					w, err := os.OpenFile(filepath.Join(home, "pipe"), os.O_WRONLY|syscall.O_NONBLOCK, 0) // it fails until there is a reader
					if err == nil {
						t.Cleanup(func() { w.Close() })
					}
					return err == nil
				}
			}
			await(t, ready)
			code := ended(t, cmd)
			if code != 130 || !strings.Contains(stderr.String(), "interrupted") && !strings.Contains(stderr.String(), "cancelled") {
				t.Errorf("exit code %d: %s", code, stderr.String())
			}
			if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
				t.Error("the program ran")
			}
		})
	}
}

// hangingPlugins installs plugins that never answer: one when it starts, one when its hook is
// called. Both make a file first.
func hangingPlugins(t *testing.T, home string) {
	t.Helper()
	for path, text := range map[string]string{
		".local/scaffold/plugins/hangs": "#!/bin/sh\necho >\"$HOME/mark\"\nwhile :; do read -r line; done\n",
		".local/share/mine/plugins/hangs/mine-plugin.toml": `[plugin]
name = "hangs"
version = "1.0.0"
description = "hangs"
author = "test"
protocol_version = "1.0.0"
[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
timeout = "1h"
`,
		".config/patchbay/agents/hangs/agent.toml":          "[agent]\nname = \"hangs\"\n[run]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo >mark; exec sleep 3600\"]\nworking_dir = \"../../../..\"\n",
		".local/share/mine/plugins/hangs/mine-plugin-hangs": "#!/bin/sh\nread -r input\ncase $input in *preexec*) echo >\"$HOME/mark\"; exec sleep 3600 ;; esac\n",
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
}

// ended sends SIGTERM once and waits for the exit code. Its time limit is much shorter than the
// hour for which the hook and the agent would run.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
		return cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("it still runs")
		return 0
	}
}

// await waits for a condition.
func await(t *testing.T, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition never became true")
		}
	}
}

// marked reports whether one of the hanging plugins was called.
func marked(home string, _ *exec.Cmd) bool {
	_, err := os.Stat(filepath.Join(home, "mark"))
	return err == nil
}

// inOpen reports whether a thread of the process waits for the other end of a pipe. A thread that
// opens an ordinary file is in the same system call, but sleeps there only for moments.
func inOpen(_ string, cmd *exec.Cmd) bool {
	before := opening(cmd.Process.Pid)
	if len(before) == 0 {
		return false
	}
	time.Sleep(200 * time.Millisecond) // only a thread that waits for a pipe is still in the same call afterwards
	after := opening(cmd.Process.Pid)
	for thread, call := range before {
		if after[thread] == call {
			return true
		}
	}
	return false
}

// opening returns the threads of a process that sleep while they open a file. The value of each is
// the arguments of its system call, and how often the thread has slept.
func opening(pid int) map[string]string {
	threads := map[string]string{}
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		call, err := os.ReadFile(filepath.Join(dir, "syscall"))
		if number, _, _ := strings.Cut(string(call), " "); err != nil || number != fmt.Sprint(syscall.SYS_OPENAT) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil || !strings.Contains(string(status), "State:\tS") {
			continue
		}
		_, slept, _ := strings.Cut(string(status), "voluntary_ctxt_switches:")
		threads[dir] = string(call) + slept
	}
	return threads
}

// unread returns the number of bytes in a pipe.
func unread(t *testing.T, pipe *os.File) int {
	t.Helper()
	var n int32
	conn, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) {
		const fionread = 0x541B
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&n)))
	}); err != nil {
		t.Fatal(err)
	}
	return int(n)
}
