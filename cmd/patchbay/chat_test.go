//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A terminal is tmux with one window: a real terminal without a user.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal runs a command in its own terminal.
func openTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	plugtest.NeedTool(t, "tmux")
	dir, err := os.MkdirTemp("", "pb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = term.tmux("kill-server").Run() // tmux may have ended with the program
		os.RemoveAll(dir)
	})
	start := append([]string{"new-session", "-d", "-x", "100", "-y", "40", "-c", cmd.Dir, "--", "env", "-i"}, cmd.Env...)
	start = append(append(start, cmd.Path), cmd.Args[1:]...)
	run := term.tmux("-f", "/dev/null")
	run.Args = append(run.Args, start...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	return term
}

func (term *terminal) tmux(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
}

// keys types keys. Names such as Enter and C-c are keys too.
func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	if out, err := term.tmux(append([]string{"send-keys"}, keys...)...).CombinedOutput(); err != nil {
		term.t.Fatalf("send-keys %q: %v: %s", keys, err, out)
	}
}

// screen returns the text on the screen, with the text that has scrolled away above it.
func (term *terminal) screen() string {
	out, err := term.tmux("capture-pane", "-p", "-S", "-200").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("(no screen: %v)", err)
	}
	return string(out)
}

// shows waits until all of the texts are on the screen.
func (term *terminal) shows(texts ...string) string {
	term.t.Helper()
	var screen string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		screen = term.screen()
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(screen, text)
		}
		if !missing {
			return screen
		}
	}
	term.t.Fatalf("the screen never showed %q:\n%s", texts, screen)
	return ""
}

// ended waits until the program, and with it the terminal, has ended.
func (term *terminal) ended() {
	term.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if term.tmux("has-session").Run() != nil {
			return
		}
	}
	term.t.Fatalf("the program did not end:\n%s", term.screen())
}

const chatScript = `
- {text: Let me look., tools: [{name: shell, arguments: {cmd: echo from the shell}}]}
- text: There is nothing here.
- {text: one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen, delay: 1s}
`

// TestChatInATerminal types into `patchbay chat` and checks the screen.
func TestChatInATerminal(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := t.TempDir()
	write(t, home, "script.yaml", chatScript)
	write(t, home, ".agent/plugins/signer.py", `"""Signs."""
__plugin__ = {"api": "1.0", "name": "signer"}

@on_final
async def sign(ctx, text):
    return text + " Signed."
`)
	path, err := exec.LookPath("patchbay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := patchbayIn(home, "chat", "--script", "script.yaml")
	cmd.Path = path
	write(t, home, "editor.sh", "#!/bin/sh\ngrep -q beginning \"$1\" && printf 'and from\\nthe editor\\n' >>\"$1\"\n")
	cmd.Env = append(cmd.Env, "VISUAL=sh "+filepath.Join(home, "editor.sh"))
	term := openTerminal(t, cmd)
	term.shows("offline model", "1 plugin", "/help")

	term.keys("-l", "a beginning ")
	term.keys("C-g")
	term.shows("❯ a beginning and from\n  the editor")
	term.keys("C-c")

	term.keys("-l", "what is here?")
	term.keys("Enter")
	term.shows("Let me look.", "Run this command?", "echo from the shell")
	term.keys("y")
	term.shows("│ from the shell", "There is nothing here. Signed.", "changed by signer")

	term.keys("-l", "/plugins")
	term.keys("Enter")
	term.shows("signer  python  ready", "on_final")

	term.keys("-l", "/trace")
	term.keys("Enter")
	term.shows("turn.final", "- There is nothing here.", "+ There is nothing here. Signed.")

	term.keys("-l", "count")
	term.keys("Enter")
	term.shows("shown once plugins have seen them") // the rest comes slowly
	term.keys("C-c")
	screen := term.shows("nterrupted")
	if strings.Contains(screen, "one two") {
		t.Errorf("text is shown that the signer has not seen:\n%s", screen)
	}

	term.keys("-l", "/deploy")
	term.keys("Enter")
	term.shows("there is no command /deploy", "a space before it sends it to the model")

	term.keys("-l", "/quit")
	term.keys("Enter")
	term.ended()

	out, err := patchbayIn(home, "chat", "--continue", "-p", "still there?", "--json").Output()
	if err != nil || !strings.Contains(string(out), "still there?") {
		t.Errorf("chat --continue: %s, %v", out, err)
	}
}
