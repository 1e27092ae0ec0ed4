//go:build unix

package proc

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
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
	children.AwaitUp(t, p.Stdout())
	return p
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
