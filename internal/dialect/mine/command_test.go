package mine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestCommands: a command's output and its exit code are passed on unchanged:
// docs/protocols/mine.md, row M51.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		rule, behaviour string
		args            []string
		code            int
		out, errOut     string
	}{
		{"output is passed on", "p", []string{"--vault", "my notes", ""}, 0, "sync [\"--vault\" \"my notes\" \"\"]\n", ""},
		{"no arguments", "p", nil, 0, "sync []\n", ""},
		{"a JSON error is shown as its message", "refuse", nil, 4, "half of it\n", "vault not found (VAULT_NOT_FOUND)\n"},
		{"text that is not JSON is shown raw", "words", nil, 5, "", "{ not JSON\nat all\n"},
		{"nothing on stderr: it exited unexpectedly", "crash", nil, 6, "", "plugin exited unexpectedly (exit code 6)\n"},
		{"JSON on stderr of a command that worked is passed on unchanged", "warn", nil, 0, "out\n", refusal + "\n"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			_, p := openFake(t, c.behaviour)
			var out, errOut bytes.Buffer
			code, err := p.RunCommand(t.Context(), dialect.Command{Name: "sync", Args: c.args, Out: &out, ErrOut: &errOut})
			if err != nil || code != c.code || out.String() != c.out || errOut.String() != c.errOut {
				t.Errorf("%d, %v, %q, %q", code, err, out.String(), errOut.String())
			}
		})
	}
}

// TestCommandInvocation: args are what the user typed, and are left out if there are none:
// docs/protocols/mine.md, row M50.
func TestCommandInvocation(t *testing.T) {
	for want, args := range map[string][]string{
		`{"protocol_version":"1.0.0","type":"command","command":"sync"}`:                           nil,
		`{"protocol_version":"1.0.0","type":"command","command":"sync","args":["--a=b","<c>",""]}`: {"--a=b", "<c>", ""},
	} {
		if got := string(commandCall("sync", args)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCommandFailures(t *testing.T) {
	t.Run("an unknown command", func(t *testing.T) {
		_, p := openFake(t, "p")
		_, err := p.RunCommand(t.Context(), dialect.Command{Name: "snyc", Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), `has no command "snyc"; did you mean "sync"?`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a signal is a crash", func(t *testing.T) {
		_, p := openFake(t, "kill-self")
		code, err := p.RunCommand(t.Context(), dialect.Command{Name: "sync", Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
		if code != 128+9 || !errors.Is(err, hook.Crash) || !strings.Contains(err.Error(), "SIGKILL") {
			t.Errorf("%d, %v", code, err)
		}
	})
	t.Run("the output cannot be written", func(t *testing.T) {
		_, p := openFake(t, "p")
		_, err := p.RunCommand(t.Context(), dialect.Command{Name: "sync", Out: closed{}, ErrOut: &bytes.Buffer{}})
		if !errors.Is(err, errClosed) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a caller who gave up", func(t *testing.T) {
		_, p := openFake(t, "p")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.RunCommand(ctx, dialect.Command{Name: "sync", Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

var errClosed = errors.New("the reader is gone")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

// TestErrorMessages: a caller who asks for the error message of a command gets it whatever its form
// is, and nothing else is printed.
func TestErrorMessages(t *testing.T) {
	for behaviour, want := range map[string]string{
		"refuse": "vault not found (VAULT_NOT_FOUND)", "words": "{ not JSON\nat all", "plain": "no such vault", "crash": "plugin exited unexpectedly (exit code 6)",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			_, p := openFake(t, behaviour)
			var errOut bytes.Buffer
			said := ""
			c := dialect.Command{Name: "sync", Out: &bytes.Buffer{}, ErrOut: &errOut, Failed: func(message string) { said = message }}
			if code, err := p.RunCommand(t.Context(), c); err != nil || code == 0 || said != want || errOut.String() != "" {
				t.Errorf("%d, %v, said %q, printed %q", code, err, said, errOut.String())
			}
		})
	}
}

// TestErrorStream: lines are passed on at once, unless they may be an error object.
func TestErrorStream(t *testing.T) {
	for _, c := range []struct {
		rule  string
		lines []string
		now   string // what is shown before the command ends
	}{
		{"text at once", []string{"one", "two"}, "one\ntwo\n"},
		{"an object is held back", []string{"{", `"error": "x"}`}, ""},
		{"an object after blank lines is held back too", []string{"", "  {"}, ""},
		{"text that has an object in it", []string{"one", "{}"}, "one\n{}\n"},
		{"text that is longer than any error object", []string{"{" + strings.Repeat("x", mostHeld)}, "{" + strings.Repeat("x", mostHeld) + "\n"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var out bytes.Buffer
			s := &errorStream{out: &out}
			for _, text := range c.lines {
				s.line(text)
			}
			if out.String() != c.now {
				t.Errorf("shown %.80q, want %.80q", out.String(), c.now)
			}
		})
	}
}
