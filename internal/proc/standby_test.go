//go:build unix

package proc

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func TestStandby(t *testing.T) {
	t.Run("a call takes a process that waits already", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "echo"), 1)
		waiting := awaitReady(t, s, 1)
		call(t, s, "hello")
		if !gone(waiting[0]) {
			t.Error("another process was used")
		}
	})
	t.Run("the process is replaced after each call", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "echo"), 1)
		seen := make(map[int]bool)
		for range 5 {
			seen[awaitReady(t, s, 1)[0]] = true
			call(t, s, "x")
		}
		if len(seen) != 5 {
			t.Errorf("%d processes for 5 calls", len(seen))
		}
	})
	t.Run("a replacement is ready during a long call", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "hang"), 1)
		first := awaitReady(t, s, 1)[0]
		ctx, cancel := context.WithCancel(t.Context())
		var long sync.WaitGroup
		long.Go(func() { _, _ = s.Run(ctx, Call{}) })
		eventually.True(t, "a replacement is ready during the call", func() bool {
			ready := s.pids()
			return len(ready) == 1 && ready[0] != first
		})
		cancel()
		long.Wait()
	})
	t.Run("more calls than processes start their own", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "echo"), 2)
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { call(t, s, "x") })
		}
		calls.Wait()
	})
	t.Run("a process that died while waiting is never used", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "echo"), 1)
		awaitReady(t, s, 1)
		s.mu.Lock() // lost must wait, so that take has to notice
		p := s.ready[0]
		p.kill()
		eventually.True(t, "the process is dead", func() bool { return hasExited(p.os) })
		s.mu.Unlock()
		call(t, s, "x")
	})
	t.Run("a process that died while waiting is replaced", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "dies-first-time", filepath.Join(t.TempDir(), "been-here")), 1)
		eventually.True(t, "the process died and was replaced", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.failed == 1 && len(s.ready) == 1
		})
		call(t, s, "x")
	})
	t.Run("the call reports a process that does not start", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(Spec{Path: "/nonexistent/plugin"}, 1)
		_, err := s.Run(t.Context(), Call{})
		var se *program.StartError
		if !errors.As(err, &se) {
			t.Error(err)
		}
	})
	t.Run("an ended context takes no process", func(t *testing.T) {
		g := newGroup(t)
		s := g.Standby(fake(t, "echo"), 1)
		awaitReady(t, s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Run(ctx, Call{}); !errors.Is(err, context.Canceled) || len(s.pids()) != 1 {
			t.Errorf("%v, %d ready", err, len(s.pids()))
		}
	})
	t.Run("Close ends the waiting processes", func(t *testing.T) {
		g := newGroup(t)
		tok := children.Token(t)
		s := g.Standby(fake(t, "hang", tok), 3)
		awaitReady(t, s, 3)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := children.Bearing(tok); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
		if _, err := s.Run(t.Context(), Call{}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// call makes one call to an echoing standby.
func call(t *testing.T, s *Standby, payload string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := s.Run(ctx, Call{Stdin: []byte(payload)})
	if err != nil || string(result.Stdout) != payload || result.Exit.Code != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// awaitReady waits until n processes are waiting, and returns their pids.
func awaitReady(t *testing.T, s *Standby, n int) []int {
	t.Helper()
	eventually.True(t, "the stock is full", func() bool { return len(s.pids()) == n })
	return s.pids()
}

func (s *Standby) pids() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pids []int
	for _, p := range s.ready {
		pids = append(pids, p.Pid())
	}
	return pids
}
