package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A console is an IO whose output a test reads.
type console struct {
	out, err bytes.Buffer
	IO
}

// newConsole returns a console in an empty home.
func newConsole(t *testing.T, environ ...string) *console {
	t.Helper()
	c := &console{}
	c.IO = IO{In: strings.NewReader(""), Out: &c.out, Err: &c.err,
		Environ: append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, environ...)}
	return c
}

func (c *console) run(args ...string) int { return Main(context.Background(), args, c.IO) }

func TestColours(t *testing.T) {
	const escape = "\x1b["
	tests := map[string]struct {
		tty     bool
		environ []string
		want    bool
	}{
		"a terminal has colours":               {tty: true, want: true},
		"a pipe has none":                      {tty: false},
		"NO_COLOR forbids them":                {tty: true, environ: []string{"NO_COLOR=1"}},
		"an empty NO_COLOR does not":           {tty: true, environ: []string{"NO_COLOR="}, want: true},
		"a dumb terminal has none":             {tty: true, environ: []string{"TERM=dumb"}},
		"a terminal that is not dumb has them": {tty: true, environ: []string{"TERM=xterm"}, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newConsole(t, tt.environ...)
			c.OutTTY, c.ErrTTY = tt.tty, tt.tty
			if code := c.run("fire", "--list"); code != exitOK {
				t.Fatalf("exit code %d: %s", code, c.err.String())
			}
			c.run("no-such-command")
			if got := strings.Contains(c.out.String(), escape); got != tt.want {
				t.Errorf("colours in the result: %t, want %t", got, tt.want)
			}
			if got := strings.Contains(c.err.String(), escape); got != tt.want {
				t.Errorf("colours in the error: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestVersionFlag(t *testing.T) {
	c := newConsole(t)
	if code := c.run("--version"); code != exitOK || c.out.String() != "patchbay "+pluginhost.Version+"\n" || c.err.String() != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, c.out.String(), c.err.String())
	}
}

func TestJSONIsIndentedOnATerminal(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	c.OutTTY = true
	c.run("version", "--json")
	if !strings.HasPrefix(c.out.String(), "{\n  \"version\": ") {
		t.Errorf("got %q", c.out.String())
	}
}

// brokenWriter fails every write.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Run("is an error", func(t *testing.T) {
		c := newConsole(t)
		c.Out = brokenWriter{errors.New("no space left on device")}
		if code := c.run("version"); code != exitFailed {
			t.Errorf("exit code %d, want %d", code, exitFailed)
		}
		if got := c.err.String(); got != "error: writing the output: no space left on device\n" {
			t.Errorf("stderr is %q", got)
		}
	})
	t.Run("no message if the reader is gone", func(t *testing.T) {
		c := newConsole(t)
		c.Out = brokenWriter{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}
		if code := c.run("fire", "--list"); code != exitPipe {
			t.Errorf("exit code %d, want %d", code, exitPipe)
		}
		if c.err.Len() > 0 {
			t.Errorf("stderr is %q", c.err.String())
		}
	})
}

func TestInputIsBounded(t *testing.T) {
	c := newConsole(t)
	c.In = endless{}
	if code := c.run("fire", "turn.input", "--data", "-"); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	if !strings.Contains(c.err.String(), "stdin has more than 64 MiB") {
		t.Errorf("stderr is %q", c.err.String())
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestEventsStopWithTheContext(t *testing.T) {
	c := newConsole(t)
	in, feed := io.Pipe()
	c.In = in
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan struct{}) // closed at the first result
	c.Out = &signalWriter{w: &c.out, first: written}
	code := make(chan int)
	go func() { code <- Main(ctx, []string{"fire", "--events", "-"}, c.IO) }()
	if _, err := io.WriteString(feed, `{"point":"session.end"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-written // the result comes before the input ends
	cancel()
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d, want %d", got, exitInterrupted)
	}
	feed.Close() // ends the goroutine that still reads
	if !strings.Contains(c.out.String(), `"point":"session.end"`) {
		t.Errorf("stdout is %q", c.out.String())
	}
}

// A signalWriter closes first at its first write. One goroutine writes to it.
type signalWriter struct {
	w     io.Writer
	first chan struct{}
	done  bool
}

func (s *signalWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if !s.done {
		s.done = true
		close(s.first)
	}
	return n, err
}

func TestTheLastEventNeedsNoLineEnd(t *testing.T) {
	c := newConsole(t)
	c.In = strings.NewReader(`{"point":"session.end"}`)
	if code := c.run("fire", "--events", "-"); code != exitOK {
		t.Errorf("exit code %d: %s", code, c.err.String())
	}
	if got := strings.Count(c.out.String(), "\n"); got != 1 {
		t.Errorf("%d lines: %s", got, c.out.String())
	}
}

func TestStyledHelpEndsWithTheExitCodes(t *testing.T) {
	c := newConsole(t)
	c.OutTTY = true
	if code := c.run("fire", "--help"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, c.err.String())
	}
	_, status, ok := strings.Cut(c.out.String(), "EXIT STATUS")
	if !ok || !strings.Contains(status, "130  interrupted") {
		t.Errorf("help is\n%s", c.out.String())
	}
}

// TestEveryCommandMayFail: any command fails with 1 if its output, or the stored data, cannot be
// used.
func TestEveryCommandMayFail(t *testing.T) {
	own := exits(exit{exitFailed, "the file cannot be read"})[exitKey]
	if every := exits()[exitKey]; !strings.Contains(every, "    1  the command failed\n") || strings.Contains(own, "the command failed") {
		t.Errorf("%s\n%s", every, own)
	}
}
