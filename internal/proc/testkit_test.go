//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. It is long because the machine may be
// busy. No test asserts how long anything takes.
const patience = time.Minute

// fake returns the Spec of a fake.
func fake(t testing.TB, name string, args ...string) Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Path: self, Args: append([]string{"-fake", name}, args...)}
}

// newGroup returns a group that is closed at the end of the test, and must close without an error.
func newGroup(t testing.TB) *Group {
	t.Helper()
	g := NewGroup(nil)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// started starts a fake that prints "up", and waits until it does.
func started(t testing.TB, g *Group, s Spec) *Process {
	t.Helper()
	p, err := g.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	awaitUp(t, p.Stdout())
	return p
}

func awaitUp(t testing.TB, stdout *os.File) {
	t.Helper()
	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Fatalf("fake said %q, %v", line, err)
	}
}

// bearing returns the running processes with this word among their arguments.
func bearing(token string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline") // a zombie's is empty
		if bytes.Contains(cmdline, []byte("\x00"+token+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// token returns a word that no other process on this machine has among its arguments.
func token(t testing.TB) string {
	return strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}
