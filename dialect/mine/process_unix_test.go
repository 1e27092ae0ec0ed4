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
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A ripening is a context whose deadline comes when the test says so.
type ripening struct {
	context.Context
	over chan struct{}
}

func (r *ripening) Done() <-chan struct{} { return r.over }
func (r *ripening) Err() error {
	select {
	case <-r.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// pipe makes a named pipe in the rig's home.
func (r *rig) pipe(name string) string {
	r.Helper()
	path := filepath.Join(r.home, name)
	r.must(syscall.Mkfifo(path, 0o600))
	return path
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
	return strings.TrimSpace(first + string(rest))
}

// forks is a plugin whose grandchild ignores SIGTERM and holds the pipe "alive" open while it lives.
const forks = `#!/bin/sh
read -r line
case $line in *'"type":"lifecycle"'*) exit ;; esac
(exec 3>"$HOME/alive"; trap '' TERM; echo up >&3; while :; do sleep 0.05; done) & wait
`

// TestTheWholeGroupDiesOnTheDeadline: "If a plugin exceeds its timeout, mine kills the process", and what it started.
func TestTheWholeGroupDiesOnTheDeadline(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("forks", everyStage, forks)
	alive := r.pipe("alive")
	h, err := r.open()[0].Connect(stagePreexec, hook.CommandBefore)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &ripening{Context: t.Context(), over: make(chan struct{})}
	failed := make(chan error, 1)
	go func() {
		_, err := h.Call(ctx, &hook.Event{Point: hook.CommandBefore})
		failed <- err
	}()
	if words := listen(t, alive, func() { close(ctx.over) }); words != "up" {
		t.Errorf("the grandchild said %q", words)
	}
	if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// TestAnInterruptedCommandIsKilled: with what it started.
func TestAnInterruptedCommandIsKilled(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("forks", everyStage, strings.Replace(forks, "trap '' TERM;", "trap 'echo farewell >&3; exit' TERM;", 1))
	alive := r.pipe("alive")
	p := r.open()[0]
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	failed := make(chan error, 1)
	go func() {
		_, err := p.RunCommand(ctx, dialect.Command{Name: "sync", Out: io.Discard, ErrOut: io.Discard})
		failed <- err
	}()
	if words := listen(t, alive, interrupt); words != "up\nfarewell" {
		t.Errorf("the grandchild said %q", words)
	}
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestOutputIsPassedOnAsItComes: each line of stdout and stderr is there while the command still waits for the next.
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
