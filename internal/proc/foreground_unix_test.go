//go:build unix

package proc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// foreground runs sh -c with its output captured.
func foreground(t *testing.T, script string, signals <-chan os.Signal, started func(io.Reader)) (Exit, error) {
	t.Helper()
	g := NewGroup(nil)
	defer g.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	read := make(chan struct{})
	go func() { defer close(read); started(r) }()
	exit, err := g.Foreground(t.Context(), Spec{Path: "sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "ONLY=this"}},
		Foreground{Stdin: null, Stdout: w, Stderr: w, Signals: signals})
	w.Close()
	<-read
	return exit, err
}

func TestForeground(t *testing.T) {
	t.Run("the program's output and its exit code are passed on", func(t *testing.T) {
		var out []byte
		exit, err := foreground(t, `echo "$ONLY"; exit 7`, nil, func(r io.Reader) { out, _ = io.ReadAll(r) })
		if err != nil || exit.Code != 7 || exit.ShellCode() != 7 || string(out) != "this\n" {
			t.Errorf("%q, %v, %v", out, exit, err)
		}
	})
	t.Run("a signal that ended it becomes the exit code of a shell", func(t *testing.T) {
		exit, err := foreground(t, `kill -KILL $$`, nil, func(r io.Reader) { _, _ = io.ReadAll(r) })
		if err != nil || exit.Signal != "SIGKILL" || exit.ShellCode() != 137 {
			t.Errorf("%v, %v", exit, err)
		}
	})
	t.Run("signals are passed on", func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		exit, err := foreground(t, `trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done`, signals, func(r io.Reader) {
			_, _ = io.ReadFull(r, make([]byte, len("ready\n")))
			signals <- syscall.SIGTERM
			_, _ = io.ReadAll(r)
		})
		if err != nil || exit.Code != 3 {
			t.Errorf("%v, %v", exit, err)
		}
	})
	t.Run("the program is in the host's own process group", func(t *testing.T) {
		var out []byte
		if _, err := foreground(t, `ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat`, nil, func(r io.Reader) { out, _ = io.ReadAll(r) }); err != nil {
			t.Fatal(err)
		}
		own, err := syscall.Getpgid(0)
		if err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(own) {
			t.Errorf("group %q, the host's is %d (%v)", out, own, err)
		}
	})
	t.Run("a missing program", func(t *testing.T) {
		g := NewGroup(nil)
		defer g.Close()
		_, err := g.Foreground(t.Context(), Spec{Path: "no-such-program", Env: []string{"PATH=/bin"}}, Foreground{})
		if _, ok := errors.AsType[*program.StartError](err); !ok || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}
