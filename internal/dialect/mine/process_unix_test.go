//go:build unix

package mine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// pipe makes a named pipe in the rig's home.
func (r *rig) pipe(name string) string {
	r.Helper()
	path := filepath.Join(r.home, name)
	plugtest.NamedPipe(r, path)
	return path
}

// forks is a plugin whose grandchild ignores SIGTERM and holds the pipe "alive" open while it runs.
const forks = `#!/bin/sh
read -r line
case $line in *'"type":"lifecycle"'*) exit ;; esac
(exec 3>"$HOME/alive"; trap '' TERM; echo up >&3; while :; do sleep 0.05; done) & wait
`

// TestTheWholeGroupDiesOnTheDeadline: a plugin that exceeds its timeout is killed, with all it
// started: docs/protocols/mine.md, row M48.
func TestTheWholeGroupDiesOnTheDeadline(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("forks", everyStage, forks)
	alive := r.pipe("alive")
	h, err := r.open()[0].Connect(stagePreexec, hook.CommandBefore)
	if err != nil {
		t.Fatal(err)
	}
	ctx := plugtest.NewRipening(t.Context(), transformTimeout)
	failed := make(chan error, 1)
	go func() {
		_, err := h.Call(ctx, &hook.Event{Point: hook.CommandBefore})
		failed <- err
	}()
	if words := plugtest.Listen(t, alive, ctx.Ripen); words != "up" {
		t.Errorf("the grandchild said %q", words)
	}
	if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// TestAnInterruptedCommandIsKilled: an interrupted command is stopped, with all it started.
func TestAnInterruptedCommandIsKilled(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("forks", everyStage, strings.Replace(forks, "trap '' TERM;", "trap 'echo stopped >&3; exit' TERM;", 1))
	alive := r.pipe("alive")
	p := r.open()[0]
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	failed := make(chan error, 1)
	go func() {
		_, err := p.RunCommand(ctx, dialect.Command{Name: "sync", Out: io.Discard, ErrOut: io.Discard})
		failed <- err
	}()
	if words := plugtest.Listen(t, alive, interrupt); words != "up stopped" {
		t.Errorf("the grandchild said %q", words)
	}
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestOutputIsPassedOnAsItComes: each line of stdout and stderr is passed on while the command
// still waits for the next.
func TestOutputIsPassedOnAsItComes(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("slow", everyStage, `#!/bin/sh
read -r line
case $line in *'"type":"lifecycle"'*) exit ;; esac
echo one; read -r go <"$HOME/first"
echo two >&2; read -r go <"$HOME/second"
printf 'three, no newline'
exit 9
`)
	first, second := r.pipe("first"), r.pipe("second")
	out, outEnd := io.Pipe()
	errOut, errEnd := io.Pipe()
	p := r.open()[0]
	code := make(chan int, 1)
	go func() {
		defer outEnd.Close()
		defer errEnd.Close()
		n, err := p.RunCommand(t.Context(), dialect.Command{Name: "sync", Out: outEnd, ErrOut: errEnd})
		if err != nil {
			t.Error(err)
		}
		code <- n
	}()
	in, inErr := bufio.NewReader(out), bufio.NewReader(errOut)
	expect := func(r *bufio.Reader, want string) {
		t.Helper()
		if got, err := r.ReadString('\n'); got != want || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	expect(in, "one\n")
	r.must(os.WriteFile(first, []byte("on\n"), 0o600))
	expect(inErr, "two\n")
	r.must(os.WriteFile(second, []byte("on\n"), 0o600))
	rest, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(rest, []byte("three, no newline")) {
		t.Errorf("%q, %v", rest, err)
	}
	if n := <-code; n != 9 {
		t.Errorf("exit code %d", n)
	}
}
