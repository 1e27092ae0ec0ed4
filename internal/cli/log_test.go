package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func TestLog(t *testing.T) {
	tests := map[string]struct {
		verbose bool
		write   func(*slog.Logger)
		want    string
	}{
		"a warning names its plugin and error": {false, func(l *slog.Logger) {
			l.With("plugin", "git-context", "dialect", "scaffold").Warn("plugin left out", "err", errors.New("no answer"))
		}, "warning: plugin git-context: plugin left out: no answer\n"},
		"other keys follow the message": {false, func(l *slog.Logger) {
			l.Warn("odd", "count", 2, "what", "x y", "stderr", "")
		}, "warning: odd (count 2, what \"x y\")\n"},
		"a key is not repeated if the value begins with it": {false, func(l *slog.Logger) {
			l.Warn("it ended", "exit", "exit code 3")
		}, "warning: it ended (exit code 3)\n"},
		"less than a warning is not shown": {false, func(l *slog.Logger) { l.Info("hello"); l.Debug("hello") }, ""},
		"with -v everything is shown":      {true, func(l *slog.Logger) { l.Info("hi"); l.Debug("ho") }, "info: hi\ndebug: ho\n"},
		"stderr of a plugin is a line with its name": {true, func(l *slog.Logger) {
			dialect.LogStderr(l.With("plugin", "chatty"), slog.LevelInfo, "good morning")
		}, "chatty │ good morning\n"},
		"a plugin that cannot be called is one warning, whichever hook is called": {false, func(l *slog.Logger) {
			for _, hook := range []string{"preexec", "postexec"} {
				l.Warn("skipped", "plugin", "guard", "err", errors.New("missing"), "hook", hook, dialect.EachHookKey, true)
			}
			l.Warn("skipped", "plugin", "guard", "err", errors.New("boom"), "hook", "notify")
			l.Warn("skipped", "plugin", "guard", "err", errors.New("boom"), "hook", "preexec")
		}, "warning: plugin guard: skipped: missing (hook preexec)\nwarning: plugin guard: skipped: boom (hook notify)\nwarning: plugin guard: skipped: boom (hook preexec)\n"},
		"with -v each of its hooks is a warning": {true, func(l *slog.Logger) {
			for _, hook := range []string{"preexec", "postexec"} {
				l.Warn("skipped", "plugin", "guard", "err", errors.New("missing"), "hook", hook, dialect.EachHookKey, true)
			}
		}, "warning: plugin guard: skipped: missing (hook preexec)\nwarning: plugin guard: skipped: missing (hook postexec)\n"},
		"control characters are escaped": {false, func(l *slog.Logger) {
			l.With("plugin", "e\x1bvil").Warn("odd", "err", errors.New("a\nb\x1b[2J"))
		}, "warning: plugin e\\x1bvil: odd: a\n    b\\x1b[2J\n"},
		"the exception of a traceback comes first": {false, func(l *slog.Logger) {
			l.With("plugin", "tags").Warn("skipped", "err", errors.New("Traceback (most recent call last):\n  File \"run\", line 4, in f\n    g()\nKeyError: 'x'\n"), "fix", "see its log")
		}, "warning: plugin tags: skipped: KeyError: 'x'; fix: see its log\n    Traceback (most recent call last):\n      File \"run\", line 4, in f\n        g()\n    KeyError: 'x'\n"},
		"so does the error above a stack of Node": {false, func(l *slog.Logger) {
			l.Warn("skipped", "err", errors.New("run:2\nc.x.y\n    ^\n\nTypeError: no y\n    at run:2:3\n\nNode.js v20.20.2"))
		}, "warning: skipped: TypeError: no y\n    run:2\n    c.x.y\n        ^\n\n    TypeError: no y\n        at run:2:3\n\n    Node.js v20.20.2\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			a := &app{IO: IO{Err: &b}}
			a.flags.verbose = tt.verbose
			tt.write(a.logger())
			if b.String() != tt.want {
				t.Errorf("got %q, want %q", b.String(), tt.want)
			}
		})
	}
}

// TestStoredLogsHaveNoSecrets: the logs of plugins and of the daemon are stored without the secrets
// of the files and of the environment.
func TestStoredLogsHaveNoSecrets(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "patchbay")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secrets.toml": "A = \"of-the-secrets\"\n", "other.toml": "[server]\ntoken = \"of-the-server\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{IO: IO{Environ: []string{"HOME=" + home, "GITHUB_TOKEN=of-the-environment"}}}
	a.flags.config = filepath.Join(dir, "other.toml")
	file, err := os.Create(filepath.Join(home, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a.log = &logStyle{file: file, level: slog.LevelInfo}
	const said, stored = "of-the-secrets of-the-server of-the-environment out of ink", "[secret] [secret] [secret] out of ink"
	a.logger().Warn("plugin ended", "plugin", "pen", "dialect", "mine", "err", errors.New(said))
	for _, name := range []string{file.Name(), a.pluginLog().File("mine", "pen")} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), stored) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}
