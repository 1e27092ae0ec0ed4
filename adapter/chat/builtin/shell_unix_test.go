//go:build unix

package builtin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

func TestShell(t *testing.T) {
	b := newBench(t, Options{Environ: os.Environ()})
	sh := func(cmd string) string {
		t.Helper()
		return b.ok("shell", args{"cmd": cmd})
	}

	t.Run("it runs in the working directory", func(t *testing.T) {
		b.put("here", "")
		if got := sh("ls"); got != "here\n" {
			t.Error(got)
		}
	})
	t.Run("stdout and stderr come in the order of their writing", func(t *testing.T) {
		if got := sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2"); got != "1\n2\n3\n4\n" {
			t.Error(got)
		}
	})
	t.Run("the command is passed on unchanged", func(t *testing.T) {
		for cmd, want := range map[string]string{
			`printf '%s' "a  b" 'c"d'`:       `a  bc"d`,
			"printf '%s' \"$0\"":             "/bin/sh",
			"cat <<'E'\nx $HOME `y`\nE\n":    "x $HOME `y`\n",
			`printf '%s' "ä€😀"`:              "ä€😀",
			"# nothing but a comment\ntrue;": "[no output]\n",
		} {
			if got := sh(cmd); got != want {
				t.Errorf("%s: %q", cmd, got)
			}
		}
	})
	t.Run("stdin is empty", func(t *testing.T) {
		if got := sh("cat; readlink /proc/self/fd/0 || echo /dev/null"); got != "/dev/null\n" {
			t.Error(got)
		}
	})
	t.Run("an exit code is reported, with the output", func(t *testing.T) {
		r := b.fails("shell", args{"cmd": "echo out; exit 3"}, "exit code 3")
		if r.Output != "out\n[exit code 3]\n" {
			t.Error(r.Output)
		}
	})
	t.Run("a signal is reported", func(t *testing.T) {
		contains(t, b.fails("shell", args{"cmd": "kill -9 $$"}, "SIGKILL").Output, "[SIGKILL]")
	})
	t.Run("a syntax error is part of the output", func(t *testing.T) {
		contains(t, b.fails("shell", args{"cmd": "echo 'open"}, "exit code").Output, "nterminated")
	})
	t.Run("an invalid command is refused", func(t *testing.T) {
		b.fails("shell", args{"cmd": "  \n"}, "empty")
		b.fails("shell", args{"cmd": "echo \x00"}, "NUL")
		b.fails("shell", args{"cmd": "true " + strings.Repeat("x", maxCommand)}, "write it to a file")
		b.fails("shell", args{"cmd": "true", "timeout": -1}, "timeout")
	})
	t.Run("the longest command is accepted", func(t *testing.T) {
		sh("true " + strings.Repeat("x", maxCommand-5))
	})
	t.Run("bytes that are not UTF-8 are replaced, and so is NUL", func(t *testing.T) {
		if got := sh(`printf 'a\377b\000\000c'`); got != "a\ufffdb\ufffdc" || b.streamed() == "" || !utf8.ValidString(b.streamed()) {
			t.Errorf("%q", got)
		}
	})
}

func TestShellOutput(t *testing.T) {
	t.Run("the beginning and the end of a long output are kept", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		got := b.ok("shell", args{"cmd": "echo first; head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo last"})
		if len(got) > shownMax || !strings.HasPrefix(got, "first\nxxx") || !strings.HasSuffix(got, "xxx\nlast\n") {
			t.Errorf("%d bytes: %q … %q", len(got), got[:20], got[len(got)-20:])
		}
		contains(t, got, " bytes are left out here]\n")
		if seen := b.streamed(); !strings.HasSuffix(seen, "last\n") {
			t.Errorf("streamed: %q", seen[max(0, len(seen)-20):])
		}
	})
	t.Run("output is streamed while the command runs", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		go func() {
			eventually.True(t, "the first line is seen", func() bool { return b.streamed() == "begun\n" })
			b.put("go", "")
		}()
		got := b.ok("shell", args{"cmd": "echo begun; until test -e go; do sleep 0.01; done; echo over"})
		if got != "begun\nover\n" || b.streamed() != got {
			t.Errorf("%q, streamed %q", got, b.streamed())
		}
	})
	t.Run("streaming does not cut a character", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		b.ok("shell", args{"cmd": `printf 'a\303'; sleep 0.3; printf '\244b'`})
		if b.streamed() != "aäb" {
			t.Errorf("%q", b.streamed())
		}
	})
}

func TestShellEnvironment(t *testing.T) {
	b := newBench(t, Options{Environ: []string{"PATH=" + os.Getenv("PATH"), "KEPT=yes", "MY_DEPLOY_TOKEN=t",
		"PATCHBAY_HOME=/x", "patchbay_token=x", "ANTHROPIC_API_KEY=x", "OPENAI_API_KEY=x", "no value"}})
	t.Setenv("OF_THE_HOST", "x")
	got := b.ok("shell", args{"cmd": "env"})
	contains(t, got, "KEPT=yes\n", "MY_DEPLOY_TOKEN=t\n")
	for _, name := range []string{"OF_THE_HOST", "PATCHBAY", "patchbay", "API_KEY"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is in %q", name, got)
		}
	}
}

// stubborn starts a child and a grandchild that ignore SIGTERM, writes their process ids to files,
// and waits.
const stubborn = `trap '' TERM
(sh -c 'echo $$ >grandchild; while :; do sleep 1; done' & echo $! >/dev/null; wait) &
echo $$ >leader
until test -s grandchild; do sleep 0.01; done
echo up
while :; do sleep 1; done`

func TestShellEnds(t *testing.T) {
	t.Run("a command ends at its timeout, with all that it started", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		r := b.fails("shell", args{"cmd": stubborn, "timeout": 0.7}, "timed out after 700ms", "all that it started were ended")
		contains(t, r.Output, "up\n[timed out")
		b.allGone()
	})
	t.Run("a command ends with its call, with all that it started", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			eventually.True(t, "it is up", func() bool { return b.streamed() == "up\n" })
			cancel()
		}()
		r, err := b.try(ctx, "shell", args{"cmd": stubborn})
		if err != nil || r.Success {
			t.Fatalf("%+v, %v", r, err)
		}
		contains(t, r.Output, "up\n[interrupted: the command and all that it started were ended]")
		b.allGone()
	})
	t.Run("its background processes end with it", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		if got := b.ok("shell", args{"cmd": "sleep 1000 & echo $! >leader; echo $! >grandchild; echo done"}); got != "done\n" {
			t.Error(got)
		}
		b.allGone()
	})
	t.Run("its output after SIGTERM is captured", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		cmd := "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
		contains(t, b.fails("shell", args{"cmd": cmd, "timeout": 0.7}, "timed out").Output, "up\n", "bye\n[timed out")
	})
	t.Run("nothing is started after the call has ended", func(t *testing.T) {
		b := newBench(t, Options{Environ: os.Environ()})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := b.try(ctx, "shell", args{"cmd": "touch ran"}); err != nil || r.Success {
			t.Errorf("%+v, %v", r, err)
		}
		onlyThese(t, b.dir)
	})
	t.Run("a closed host is an error", func(t *testing.T) {
		procs := proc.NewGroup(nil)
		b := newBench(t, Options{Procs: procs})
		if err := procs.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := b.try(t.Context(), "shell", args{"cmd": "true"}); !errors.Is(err, proc.ErrClosed) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// allGone checks that the processes whose ids are in the files have ended.
func (b *bench) allGone() {
	b.t.Helper()
	for _, name := range []string{"leader", "grandchild"} {
		text, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil {
			b.t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			b.t.Fatal(err)
		}
		if alive(pid) {
			b.t.Errorf("the %s, %d, is alive", name, pid)
		}
	}
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

func TestCapture(t *testing.T) {
	t.Run("the cut falls between characters", func(t *testing.T) {
		c := newCapture(func(string) {})
		for range 3 {
			if _, err := c.Write([]byte("x" + strings.Repeat("€", keepEach/3))); err != nil {
				t.Fatal(err)
			}
		}
		c.close()
		if got := c.text(); !utf8.ValidString(got) || len(got) > shownMax {
			t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
	})
	t.Run("output that just fits is whole", func(t *testing.T) {
		c := newCapture(func(string) {})
		want := strings.Repeat("0123456789", 2*keepEach/10)
		for i := 0; i < len(want); i += 1000 {
			if _, err := c.Write([]byte(want[i:min(i+1000, len(want))])); err != nil {
				t.Fatal(err)
			}
		}
		c.close()
		if c.text() != want {
			t.Errorf("%d bytes of %d", len(c.text()), len(want))
		}
	})
	t.Run("a slow observer does not delay the output", func(t *testing.T) {
		release := make(chan struct{})
		var seen strings.Builder
		c := newCapture(func(text string) { <-release; seen.WriteString(text) })
		for range 100 {
			if _, err := c.Write(make([]byte, livePiece)); err != nil { // a Write that waits for the observer would never return
				t.Fatal(err)
			}
		}
		close(release)
		c.close()
		contains(t, seen.String(), "bytes not shown]")
	})
	t.Run("after close the observer is not called", func(t *testing.T) {
		var seen strings.Builder
		c := newCapture(func(text string) { seen.WriteString(text) })
		c.close()
		if n, err := c.Write([]byte("late")); n != 4 || err != nil || seen.Len() > 0 || c.text() != "" {
			t.Errorf("%d, %v, %q", n, err, seen.String())
		}
	})
}
