//go:build unix

package dotagent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A ripening is a context whose deadline comes when the test says so.
type ripening struct {
	context.Context
	given time.Duration
	over  chan struct{}
}

func (r *ripening) Deadline() (time.Time, bool) { return time.Now().Add(r.given), true }
func (r *ripening) Done() <-chan struct{}       { return r.over }
func (r *ripening) Err() error {
	select {
	case <-r.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestTheWholeGroupDiesOnTheDeadline: "on the deadline the group gets SIGTERM, 5 s later SIGKILL (a sink's grandchild
// must die with it)". The grandchild holds a pipe open, and its end is the end of the pipe.
func TestTheWholeGroupDiesOnTheDeadline(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for _, c := range []struct {
		rule, trap string
		grace      time.Duration
		says       string // what the grandchild says before it dies
	}{
		{"on SIGTERM, with time to say farewell", `trap 'echo farewell >&3; exit' TERM;`, time.Minute, "up farewell"},
		{"on SIGKILL, where it ignores SIGTERM", `trap '' TERM;`, 10 * time.Millisecond, "up"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			r.dialect.grace = c.grace
			script(t, r.home, "forks", `#!/bin/sh
case $1 in
info) echo '{"name":"forks","kinds":["sink"]}' ;;
validate) echo '{"ok":true}' ;;
invoke) (exec 3>"$HOME/alive"; `+c.trap+` echo up >&3; while :; do sleep 0.05; done) & wait ;;
esac
`)
			alive := filepath.Join(r.home, "alive")
			if err := syscall.Mkfifo(alive, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx := &ripening{Context: t.Context(), given: sinkTimeout, over: make(chan struct{})}
			failed := make(chan error, 1)
			h := r.open().Hooks()[0]
			go func() {
				_, err := h.Call(ctx, &hook.Event{Point: hook.JobSink})
				failed <- err
			}()
			words := listen(t, alive, func() { close(ctx.over) })
			if words != c.says {
				t.Errorf("the grandchild said %q, want %q", words, c.says)
			}
			err := <-failed
			if !errors.Is(err, hook.Timeout) || err.Error() != "plugin forks.invoke exceeded 300s — killed" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// listen reads what a process writes into a named pipe until the process is gone. up is called after the first line.
func listen(t *testing.T, pipe string, up func()) string {
	t.Helper()
	f, err := os.Open(pipe) // waits for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	first, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	up()
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(first+string(rest)), " ")
}
