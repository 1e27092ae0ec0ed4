//go:build unix

package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/session"
)

const loudManifest = `[plugin]
name = "loud"
version = "1.0.0"
description = "adds an argument and shouts"
author = "test"
protocol_version = "1.0.0"
[[hooks]]
command = "echo"
stage = "preexec"
mode = "transform"
[[hooks]]
command = "echo"
stage = "postexec"
mode = "transform"
[[hooks]]
command = "*"
stage = "notify"
mode = "notify"
`

const loudProgram = `#!/bin/sh
IFS= read -r line
case "$line" in
*'"type":"lifecycle"'*) echo '{"status":"ok"}' ;;
*'"stage":"preexec"'*) printf '%s' "$line" | sed 's/.*"context":\(.*\)}$/{"status":"ok","context":\1}/; s/"args":\["hello"\]/"args":["hello","$(added); it'"'"'s"]/' ;;
*'"stage":"postexec"'*) printf '%s' "$line" | sed 's/.*"context":\(.*\)}$/{"status":"ok","context":\1}/; s/"stdout":"hello/"stdout":"HELLO/' ;;
*) printf '%s\n' "$line" >>"$HOME/told" ;;
esac
`

// TestShell checks that a user's command goes through the command plugins, as with `patchbay run`.
func TestShell(t *testing.T) {
	plugtest.NeedTool(t, "sed")
	h := newTestHome(t)
	h.write(".local/share/mine/plugins/loud/mine-plugin.toml", loudManifest)
	if err := os.Chmod(h.write(".local/share/mine/plugins/loud/mine-plugin-loud", loudProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	c := h.open("")
	run := func(line string) string {
		t.Helper()
		seen := ""
		out, err := c.Shell(t.Context(), ShellRequest{Session: session.Session{ID: "ses_1", WorkingDir: h.home}, Line: line,
			Progress: func(text string) { seen += text }})
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if silent := line == "exit 3"; (seen == "") != silent {
			t.Errorf("%s: %q was seen while it ran", line, seen)
		}
		return out
	}
	for line, want := range map[string]string{
		"printf 'a b'; printf c":   "a bc",
		"echo plain":               "plain\n",
		"echo hello":               "HELLO $(added); it's\n", // the changed arguments are quoted
		"pwd":                      h.home,
		"exit 3":                   "exit code 3",
		"echo \"$PATCHBAY_MODEL\"": "\n",
	} {
		if got := run(line); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	told, err := os.ReadFile(filepath.Join(h.home, "told"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"command":"sh"`, `printf 'a b'; printf c`, `"command":"echo"`, `"exit_code":3`} {
		if !strings.Contains(string(told), want) {
			t.Errorf("plugins were not told %s: %s", want, told)
		}
	}
}
