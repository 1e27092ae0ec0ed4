//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
)

func TestRun(t *testing.T) {
	g := newGroup(t)

	t.Run("payload in, stdout out", func(t *testing.T) {
		for _, size := range []int{0, 1, inlineStdin, inlineStdin + 1, 64 << 10, 3 << 20} {
			payload := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
			result, err := g.Run(t.Context(), fake(t, "echo"), Call{Stdin: payload})
			if err != nil || !bytes.Equal(result.Stdout, payload) || result.Truncated {
				t.Errorf("%d bytes: %d came back, %v", size, len(result.Stdout), err)
			}
		}
	})
	t.Run("an exit code is a result, not an error", func(t *testing.T) {
		result, err := g.Run(t.Context(), fake(t, "stderr", "broken\n"), Call{})
		if err != nil || result.Exit != (Exit{Code: 3}) || result.Stderr != "broken\n" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("a payload that is not read is not an error", func(t *testing.T) {
		result, err := g.Run(t.Context(), fake(t, "closes-stdin"), Call{Stdin: make([]byte, 2<<20)})
		if err != nil || string(result.Stdout) != "done\n" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("stdout over the limit is dropped, and does not block", func(t *testing.T) {
		result, err := g.Run(t.Context(), fake(t, "huge", "3000000"), Call{MaxStdout: 100_000})
		if err != nil || len(result.Stdout) != 100_000 || !result.Truncated || result.Exit.Code != 0 {
			t.Errorf("%d bytes, truncated %v, %v, %v", len(result.Stdout), result.Truncated, result.Exit, err)
		}
	})
	t.Run("stdout at the limit is whole", func(t *testing.T) {
		result, err := g.Run(t.Context(), fake(t, "huge", "100000"), Call{MaxStdout: 100_000})
		if err != nil || len(result.Stdout) != 100_000 || result.Truncated {
			t.Errorf("%d bytes, truncated %v, %v", len(result.Stdout), result.Truncated, err)
		}
	})
}

func TestRunTimeout(t *testing.T) {
	g := newGroup(t)
	// late makes a call whose deadline passes when the program is up.
	late := func(c Call) (*Result, error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s := fake(t, "speaks-then-hangs")
		s.Log = func(string) { cancel(context.DeadlineExceeded) }
		return g.Run(ctx, s, c)
	}

	t.Run("SIGTERM ends it, and the error is the context's", func(t *testing.T) {
		result, err := late(Call{Grace: patience})
		if !errors.Is(err, context.DeadlineExceeded) || result.Exit.Signal != "SIGTERM" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("SIGKILL comes when the grace is over", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		up := make(chan struct{})
		s := fake(t, "worst", children.Token(t), filepath.Join(t.TempDir(), "stray"))
		go func() { // it ignores SIGTERM when its stray is up
			for !exists(s.Args[3]) {
				time.Sleep(time.Millisecond)
			}
			cancel()
			close(up)
		}()
		result, err := g.Run(ctx, s, Call{Grace: time.Millisecond})
		if !errors.Is(err, context.Canceled) || result.Exit.Signal != "SIGKILL" {
			t.Errorf("%+v, %v", result, err)
		}
		<-up
		if left := children.Bearing(s.Args[2]); len(left) > 0 && markCeiling() > 0 {
			t.Errorf("alive: %v", left)
		}
	})
	t.Run("grandchildren die with it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		dir := t.TempDir()
		go func() {
			for len(children.Bearing(dir)) < 2 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := g.Run(ctx, fake(t, "dies-on-sigterm", dir), Call{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if left := children.Bearing(dir); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
	t.Run("a payload that is not read does not block the call", func(t *testing.T) {
		if _, err := late(Call{Stdin: make([]byte, 4<<20)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("the output read so far is in the result", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := fake(t, "speaks-then-hangs")
		s.Log = func(string) { cancel() }
		result, err := g.Run(ctx, s, Call{})
		if !errors.Is(err, context.Canceled) || string(result.Stdout) != "half a reply" || result.Stderr != "said\n" {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

func TestRunLeavesTheBackgroundAlone(t *testing.T) {
	g := NewGroup(nil)
	defer g.Close()
	tok := children.Token(t)

	t.Run("Run returns although the background process holds stdout", func(t *testing.T) {
		result, err := g.Run(t.Context(), fake(t, "fork-and-exit", tok), Call{})
		if err != nil || !strings.HasPrefix(string(result.Stdout), "parent\n") || result.Exit.Code != 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		if left := children.Bearing(tok); len(left) != 1 {
			t.Errorf("alive: %v, want the child", left)
		}
	})
	t.Run("the background process ends with the group", func(t *testing.T) {
		onlyWithMarks(t)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if left := children.Bearing(tok); len(left) > 0 {
			t.Errorf("alive: %v", left)
		}
	})
}

func TestDrainedPipesAreBounded(t *testing.T) {
	g := newGroup(t)
	files, err := openPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer files.closeChild()
	defer files.closeHost()
	if !g.keepDraining(files.stdout) {
		t.Fatal("the first was refused")
	}
	for len(g.draining) < maxDraining {
		other, err := openPipes()
		if err != nil {
			t.Fatal(err)
		}
		defer other.closeChild()
		defer other.closeHost()
		g.keepDraining(other.stdout)
		defer g.doneDraining(other.stdout)
	}
	if g.keepDraining(files.stderr) {
		t.Error("there is no bound")
	}
	g.doneDraining(files.stdout)
	if !g.keepDraining(files.stderr) {
		t.Error("a free place was refused")
	}
	g.doneDraining(files.stderr)
}

// TestALateReaderLosesNothing: output that a process wrote before it ended is read, even if the
// owner reads it only after the deadline for other holders of the pipe has passed.
func TestALateReaderLosesNothing(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if _, err := write.WriteString("said in time"); err != nil {
		t.Fatal(err)
	}
	if err := read.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit     int
		want      string
		truncated bool
	}{{100, "said in time", false}, {4, "", false}} { // the second finds an empty pipe
		kept, truncated, err := collect(read, c.limit)
		if string(kept) != c.want || truncated != c.truncated || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q, %v, %v", kept, truncated, err)
		}
	}
}
