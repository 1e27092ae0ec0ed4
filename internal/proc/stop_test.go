//go:build unix

package proc

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

func TestStopLadder(t *testing.T) {
	g := newGroup(t)

	t.Run("closing stdin is enough for a process that reads it", func(t *testing.T) {
		p, err := g.Start(t.Context(), fake(t, "echo"))
		if err != nil {
			t.Fatal(err)
		}
		if exit := p.Stop(t.Context(), Ladder{Stdin: patience, Term: patience}); exit != (Exit{Code: 0}) {
			t.Errorf("%v", exit)
		}
	})
	t.Run("SIGTERM follows", func(t *testing.T) {
		p := started(t, g, fake(t, "hang"))
		if exit := p.Stop(t.Context(), Ladder{Stdin: time.Millisecond, Term: patience}); exit.Signal != "SIGTERM" {
			t.Errorf("%v", exit)
		}
	})
	t.Run("SIGKILL follows", func(t *testing.T) {
		p := started(t, g, fake(t, "ignores-sigterm"))
		if exit := p.Stop(t.Context(), Ladder{Stdin: time.Millisecond, Term: time.Millisecond}); exit.Signal != "SIGKILL" || exit.Code != -1 {
			t.Errorf("%v", exit)
		}
	})
	t.Run("an ended context skips the waits", func(t *testing.T) {
		p := started(t, g, fake(t, "ignores-sigterm"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if exit := p.Stop(ctx, Ladder{Stdin: time.Hour, Term: time.Hour}); exit.Signal != "SIGKILL" {
			t.Errorf("%v", exit)
		}
	})
	t.Run("of several Stops at once, the shortest times count", func(t *testing.T) {
		p := started(t, g, fake(t, "ignores-sigterm"))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				term := time.Hour
				if i == 5 {
					term = time.Millisecond
				}
				if exit := p.Stop(t.Context(), Ladder{Term: term}); exit.Signal != "SIGKILL" {
					t.Errorf("%v", exit)
				}
			})
		}
		all.Wait()
	})
	t.Run("stopping a process that has ended changes nothing", func(t *testing.T) {
		p, err := g.Start(t.Context(), fake(t, "exit", "3"))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		for range 2 {
			if exit := p.Stop(t.Context(), Ladder{Stdin: time.Hour}); exit != (Exit{Code: 3}) || exit.String() != "exit code 3" {
				t.Errorf("%v", exit)
			}
		}
	})
}

func TestStopReachesTheWholeGroup(t *testing.T) {
	g := newGroup(t)

	t.Run("members keep their time when the leader goes first", func(t *testing.T) {
		dir := t.TempDir()
		p := started(t, g, fake(t, "dies-on-sigterm", dir))
		if exit := p.Stop(t.Context(), Ladder{Term: patience}); exit.Signal != "SIGTERM" {
			t.Errorf("%v", exit)
		}
		if !exists(filepath.Join(dir, "saved")) {
			t.Error("the program behind the leader was killed before its time")
		}
	})
	t.Run("no longer than the ladder says", func(t *testing.T) {
		dir := t.TempDir()
		p := started(t, g, fake(t, "dies-on-sigterm", dir))
		p.Stop(t.Context(), Ladder{})
		if exists(filepath.Join(dir, "saved")) {
			t.Error("the program behind the leader was not killed")
		}
		if left := children.Bearing(dir); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
	t.Run("processes that left the group are killed too", func(t *testing.T) {
		onlyWithMarks(t)
		tok := children.Token(t)
		p := started(t, g, fake(t, "worst", tok, filepath.Join(t.TempDir(), "stray")))
		if n := len(children.Bearing(tok)); n != 2 {
			t.Fatalf("%d processes, want the leader and its stray", n)
		}
		p.Stop(t.Context(), Ladder{Term: time.Millisecond})
		if left := children.Bearing(tok); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
	t.Run("a leader cannot join another group", func(t *testing.T) {
		p := started(t, g, fake(t, "leaves-group"))
		if exit := p.Stop(t.Context(), Ladder{Term: patience}); exit.Signal != "SIGTERM" {
			t.Errorf("%v", exit)
		}
	})
	t.Run("a leader that ends by itself takes its group along", func(t *testing.T) {
		tok := children.Token(t)
		p, err := g.Start(t.Context(), fake(t, "fork-and-exit", tok))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if left := children.Bearing(tok); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
		p.Stop(t.Context(), Ladder{})
	})
	t.Run("a leader killed by others takes its strays along", func(t *testing.T) {
		onlyWithMarks(t)
		tok := children.Token(t)
		p := started(t, g, fake(t, "worst", tok, filepath.Join(t.TempDir(), "stray")))
		if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if left := children.Bearing(tok); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
		p.Stop(t.Context(), Ladder{})
	})
	t.Run("the strays of other processes go on", func(t *testing.T) {
		onlyWithMarks(t)
		tok := children.Token(t)
		other := started(t, g, fake(t, "worst", tok, filepath.Join(t.TempDir(), "stray")))
		p := started(t, g, fake(t, "worst", children.Token(t), filepath.Join(t.TempDir(), "stray")))
		p.Stop(t.Context(), Ladder{})
		if n := len(children.Bearing(tok)); n != 2 {
			t.Errorf("%d of the other plugin's 2 processes are alive", n)
		}
		other.Stop(t.Context(), Ladder{})
	})
}

func TestNoSignalAfterReaping(t *testing.T) {
	g := newGroup(t)
	p, err := g.Start(t.Context(), fake(t, "exit", "0"))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.signalGroup(sigTerm) {
		t.Error("a signal was sent to a pid that may belong to another process")
	}
	p.terminate(0)
	p.kill()
	if p.terminated() || p.killed {
		t.Error("a reaped process was signalled")
	}
	p.Stop(t.Context(), Ladder{})
}

// onlyWithMarks skips tests that need marks.
func onlyWithMarks(t *testing.T) {
	t.Helper()
	if markCeiling() < leastTop {
		if machine.CI() {
			t.Fatal("no marks on this system") // the sweep would not be tested
		}
		t.Skip("no marks on this system")
	}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip(err)
	}
}
