//go:build unix

package proc

import (
	"context"
	"syscall"
	"testing"
	"time"
)

func TestKeepARealProcess(t *testing.T) {
	g := newGroup(t)
	restarted := make(chan int, 1)
	k, err := Keep(t.Context(), KeepOptions[*Process]{
		Open: func(ctx context.Context) (*Process, *Process, error) {
			p, err := g.Start(ctx, fake(t, "echo"))
			return p, p, err
		},
		Backoff:   Backoff{Min: time.Millisecond},
		OnRestart: func(n int) { restarted <- n },
	})
	if err != nil {
		t.Fatal(err)
	}
	first := k.Pid()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if n := <-restarted; n != 1 || k.Pid() == first {
		t.Errorf("restart %d, pid %d after %d", n, k.Pid(), first)
	}
	k.Restart("test")
	if n := <-restarted; n != 2 {
		t.Errorf("restart %d", n)
	}
	var exit Exit
	k.Stop(func(c, p *Process) {
		if c != p {
			t.Error("the thing is not the one opened last")
		}
		exit = p.Stop(t.Context(), Ladder{Stdin: patience})
	})
	if exit != (Exit{Code: 0}) {
		t.Errorf("final: %v", exit)
	}
}

func TestKeepThatCannotOpen(t *testing.T) {
	g := newGroup(t)
	_, err := Keep(t.Context(), KeepOptions[int]{Open: func(ctx context.Context) (int, *Process, error) {
		p, err := g.Start(ctx, Spec{Path: "/nonexistent/plugin"})
		return 0, p, err
	}})
	if err == nil {
		t.Error("opened")
	}
}
