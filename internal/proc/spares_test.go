//go:build unix

package proc

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// builder is a box that confines nothing. Built ahead, it already runs the program, which waits for
// its stdin.
type builder struct {
	built, packed, started atomic.Int64
	stale                  atomic.Bool
}

func (b *builder) Pack(l Launch) (*Packed, error) {
	b.packed.Add(1)
	return b.pack(l)
}

func (b *builder) Build(l Launch) (*Packed, error) {
	b.built.Add(1)
	packed, err := b.pack(l)
	packed.Start = func(context.Context, Launch) error {
		if b.stale.Load() {
			return ErrStale
		}
		b.started.Add(1)
		return nil
	}
	return packed, err
}

func (b *builder) pack(l Launch) (*Packed, error) {
	return &Packed{Path: l.Path, Argv: l.Argv, Await: func(context.Context) error { return nil }, Close: func() {}}, nil
}

// boxed returns an echoing program in such a box.
func boxed(t *testing.T) (Spec, *builder) {
	t.Helper()
	b := new(builder)
	s := fake(t, "echo")
	s.Box = b
	return s, b
}

// callBoxed makes one call.
func callBoxed(t *testing.T, g *Group, s Spec) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := g.Run(ctx, s, Call{Stdin: []byte("hello")})
	if err != nil || string(result.Stdout) != "hello" || result.Exit.Code != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// awaitSpares waits until n spares are ready.
func awaitSpares(t *testing.T, g *Group, n int) {
	t.Helper()
	eventually.True(t, strconv.Itoa(n)+" spares", func() bool { return g.Spares() == n })
}

// spared returns a program for which a spare is ready.
func spared(t *testing.T) (*Group, Spec, *builder) {
	t.Helper()
	g := newGroup(t)
	s, b := boxed(t)
	callBoxed(t, g, s)
	callBoxed(t, g, s)
	awaitSpares(t, g, 1)
	return g, s, b
}

func TestSpares(t *testing.T) {
	t.Run("the first call builds no spare", func(t *testing.T) {
		g := newGroup(t)
		s, b := boxed(t)
		callBoxed(t, g, s)
		if err := g.Close(); err != nil || b.built.Load() != 0 {
			t.Errorf("%d built, %v", b.built.Load(), err)
		}
	})
	t.Run("the third call uses a spare, and another is built", func(t *testing.T) {
		g, s, b := spared(t)
		callBoxed(t, g, s)
		awaitSpares(t, g, 1)
		if b.packed.Load() != 2 || b.started.Load() != 1 || b.built.Load() != 2 {
			t.Errorf("packed %d, started %d, built %d", b.packed.Load(), b.started.Load(), b.built.Load())
		}
	})
	t.Run("calls at the same time do not share a spare", func(t *testing.T) {
		g, s, _ := spared(t)
		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() { callBoxed(t, g, s) })
		}
		calls.Wait()
	})
	t.Run("its stderr goes to the log of the call", func(t *testing.T) {
		g := newGroup(t)
		s, _ := boxed(t)
		s.Path, s.Args = "/bin/sh", []string{"-c", "read -r line; echo said >&2"}
		var said lines
		for i := range 3 {
			if i == 2 {
				awaitSpares(t, g, 1)
				s.Log = said.add
			}
			if _, err := g.Run(t.Context(), s, Call{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := said.list(); !slices.Equal(got, []string{"said"}) {
			t.Errorf("logged: %q", got)
		}
	})
	t.Run("a spare that is out of date is dropped", func(t *testing.T) {
		g, s, b := spared(t)
		b.stale.Store(true)
		callBoxed(t, g, s)
		if b.packed.Load() != 3 || b.started.Load() != 0 {
			t.Errorf("packed %d, started %d", b.packed.Load(), b.started.Load())
		}
	})
	t.Run("after several spares that were out of date no more are built", func(t *testing.T) {
		g, s, b := spared(t)
		b.stale.Store(true)
		for range maxStale + 2 {
			callBoxed(t, g, s)
			eventually.True(t, "nothing is being built", func() bool { return !g.spares.busy() })
		}
		if got := b.built.Load(); got != maxStale {
			t.Errorf("%d built", got)
		}
	})
	t.Run("a spare that died is not used", func(t *testing.T) {
		g, s, _ := spared(t)
		g.spares.mu.Lock()
		for _, at := range g.spares.slots {
			_ = at.ready.os.Signal(os.Kill)
			eventually.True(t, "the spare is dead", func() bool { return hasExited(at.ready.os) })
		}
		g.spares.mu.Unlock()
		callBoxed(t, g, s)
	})
	t.Run("the number of spares is limited", func(t *testing.T) {
		g := newGroup(t)
		for range maxSpares + 2 {
			s, b := boxed(t)
			callBoxed(t, g, s)
			callBoxed(t, g, s)
			eventually.True(t, "one was built", func() bool { return b.built.Load() == 1 && !g.spares.busy() })
		}
		if got := g.Spares(); got != maxSpares {
			t.Errorf("%d", got)
		}
	})
	t.Run("a program that is not called any more loses its spare", func(t *testing.T) {
		g, s, _ := spared(t)
		key, _ := s.spareKey()
		g.spares.expire(key) // not yet
		if g.Spares() != 1 {
			t.Error("the spare was dropped too soon")
		}
		g.spares.mu.Lock()
		g.spares.slots[key].used = time.Now().Add(-2 * spareTime)
		g.spares.mu.Unlock()
		g.spares.expire(key)
		if g.Spares() != 0 {
			t.Error("the spare was not dropped")
		}
		eventually.True(t, "its process is gone", func() bool { return len(g.running()) == 0 })
	})
	t.Run("spares end with the group", func(t *testing.T) {
		g, s, _ := spared(t)
		if err := g.Close(); err != nil || len(g.running()) > 0 || g.Spares() > 0 {
			t.Errorf("%v, %d running, %d spares", err, len(g.running()), g.Spares())
		}
		if _, err := g.Run(t.Context(), s, Call{}); err == nil {
			t.Error("a closed group has made a call")
		}
	})
	t.Run("a spare that is being built ends with the group", func(t *testing.T) {
		g := newGroup(t)
		s, _ := boxed(t)
		callBoxed(t, g, s)
		callBoxed(t, g, s)
		if err := g.Close(); err != nil || len(g.running()) > 0 {
			t.Errorf("%v, %d running", err, len(g.running()))
		}
	})
}

// busy reports whether a spare is being built.
func (s *spares) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.slots {
		if at.building != nil {
			return true
		}
	}
	return false
}
