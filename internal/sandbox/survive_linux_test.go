package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
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

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestNothingSurvivesTheHost: a host with hostile plugins is killed many times, and no process is
// left.
func TestNothingSurvivesTheHost(t *testing.T) {
	for _, c := range []struct {
		kind          string
		rounds, least int // least is the minimum number of processes besides the host
	}{
		{"full", soak.Times(6, 50), 6},
		{"simple", soak.Times(3, 10), 4},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if needNamespaces(t); c.kind == "simple" {
				needSimple(t)
				t.Setenv("TMPDIR", t.TempDir())
			}
			var rounds sync.WaitGroup
			turns := make(chan struct{}, 5) // this many at a time
			for range c.rounds {
				turns <- struct{}{}
				rounds.Go(func() {
					defer func() { <-turns }()
					killHost(t, c.kind, c.least)
				})
			}
			rounds.Wait()
			if c.kind == "simple" {
				wantSwept(t)
			}
		})
	}
}

// wantSwept checks that the next host removes the directories of hosts that were killed.
func wantSwept(t *testing.T) {
	t.Helper()
	pattern := os.TempDir() + "/patchbay-sandbox-*"
	if left, _ := filepath.Glob(pattern); len(left) == 0 { // the pattern is well formed
		t.Error("no host left its directory, so the test proves nothing")
	}
	expect(t, sh(Options{System: &System{Namespaces: fmt.Errorf("switched off")}}, "echo ok"), "ok")
	if left, _ := filepath.Glob(pattern); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// killHost starts a host, kills it and checks that no process is left.
func killHost(t *testing.T, kind string, least int) {
	word := children.Token(t)
	cmd := exec.Command("/proc/self/exe", "-fake", "host", kind, word)
	cmd.Env = []string{testPath, "TMPDIR=" + os.TempDir()}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	line := make([]byte, 3)
	if _, err := stdout.Read(line); err != nil || string(line) != "up\n" {
		t.Errorf("the host said %q, %v", line, err)
	}
	if n := len(children.Bearing(word)) - 1; n < least {
		t.Errorf("only %d processes to kill", n)
	}
	jails := offspring(cmd.Process.Pid) // these do not have the word, but descend from the host
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := time.Now().Add(patience); len(children.Bearing(word)) > 0 || slices.ContainsFunc(jails, alive); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("survivors: %v, %v", children.Bearing(word), slices.DeleteFunc(jails, func(pid int) bool { return !alive(pid) }))
			for _, pid := range children.Bearing(word) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // one of ours, by the word among its arguments
			}
			return
		}
	}
}

// offspring returns all descendants of a process.
func offspring(pid int) []int {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children") // the pattern is well formed
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // it may have ended
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err == nil {
				all = append(append(all, child), offspring(child)...)
			}
		}
	}
	return all
}

// alive reports whether a process is running.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// fakeHost runs hostile plugins, prints "up" and waits to be killed. Its arguments and theirs
// contain the word.
func fakeHost(args []string) int {
	kind, word := args[0], args[1]
	o := Options{}
	if kind == "simple" {
		o.System = &System{Namespaces: fmt.Errorf("switched off")}
	} else {
		grant := capability.Capability{Kind: capability.NetHost, Host: "api.example.test", AnyPort: true}
		o.Grants = []capability.Capability{grant}
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		}
		o.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
			conn, other := net.Pipe()
			go func() { _, _ = other.Write([]byte("x")) }()
			return conn, nil
		}
	}
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	o.Own = []string{self}
	plugins := []string{"worst", "forks"}
	if kind != "simple" {
		plugins = append(plugins, "connects", "connects")
	}
	g := proc.NewGroup(nil)
	for _, plugin := range plugins {
		p, err := g.Start(context.Background(), proc.Spec{Path: self, Args: []string{"-fake", plugin, word}, Dir: "/", Env: []string{testPath}, Box: New(o)})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		line := make([]byte, 3)
		if _, err := p.Stdout().Read(line); err != nil || string(line) != "up\n" {
			fmt.Fprintf(os.Stderr, "%s said %q, %v: %s\n", plugin, line, err, p.Stderr())
			return 1
		}
	}
	if kind != "simple" && !buildSpare(g, proc.Spec{Path: "/bin/sh", Args: []string{"-c", ":"}, Dir: "/", Env: []string{testPath}, Box: New(o)}) {
		return 1
	}
	return hang(nil)
}

// buildSpare waits until a jail is built ahead.
func buildSpare(g *proc.Group, s proc.Spec) bool {
	for range 2 {
		if _, err := g.Run(context.Background(), s, proc.Call{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
	}
	for end := time.Now().Add(patience); g.Spares() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "no jail was built ahead")
			return false
		}
	}
	return true
}
