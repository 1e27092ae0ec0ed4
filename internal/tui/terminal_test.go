package tui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A terminal is a real one: tmux, which runs the test binary as a chat program.
type terminal struct {
	t      *testing.T
	socket string
	dir    string
}

// patience is long enough for a busy machine.
const patience = time.Minute

func openTerminal(t *testing.T, width, height int, env ...string) *terminal {
	t.Helper()
	plugtest.NeedTool(t, "tmux")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tui") // t.TempDir can be too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	term := &terminal{t: t, dir: dir, socket: filepath.Join(dir, "tmux")}
	args := []string{"-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height)}
	env = append(env, programEnv+"=1", gateEnv+"="+term.path("gate"), historyEnv+"="+term.path("history"))
	for _, e := range env {
		args = append(args, "-e", e)
	}
	// The shell keeps the screen after the program has ended.
	term.tmux(append(args, fmt.Sprintf("'%s'; echo exit $?; exec cat", self))...)
	t.Cleanup(func() { term.tmux("kill-server") })
	return term
}

func (term *terminal) path(name string) string { return filepath.Join(term.dir, name) }

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// resize sets the size of the terminal while the program is stopped. Otherwise text could be on its
// way that was drawn for the old size, which no program can prevent.
func (term *terminal) resize(width, height int) {
	term.t.Helper()
	var pid []byte
	term.until("the id of the program", func(string) bool {
		var err error
		pid, err = os.ReadFile(term.path("gate") + pidSuffix)
		return err == nil && len(pid) > 0
	})
	signal := func(name string) {
		if out, err := exec.Command("kill", name, string(pid)).CombinedOutput(); err != nil {
			term.t.Errorf("kill %s %s: %v: %s", name, pid, err, out)
		}
	}
	signal("-STOP")
	defer signal("-CONT")
	last := ""
	term.until("all that was drawn", func(s string) bool {
		same := s == last
		last = s
		return same
	})
	term.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	for _, k := range keys {
		term.tmux("send-keys", k)
	}
}

func (term *terminal) openGate() {
	term.t.Helper()
	if err := os.WriteFile(term.path("gate"), nil, 0o600); err != nil {
		term.t.Fatal(err)
	}
}

// screen returns the visible lines; all returns the scrollback and the visible lines.
func (term *terminal) screen() string { return term.tmux("capture-pane", "-p") }
func (term *terminal) all() string    { return term.tmux("capture-pane", "-p", "-S", "-1000") }

// joined is all, with the rows joined that the terminal has wrapped.
func (term *terminal) joined() string { return term.tmux("capture-pane", "-p", "-J", "-S", "-1000") }

// until waits until a condition holds for the screen.
func (term *terminal) until(what string, ok func(screen string) bool) {
	term.t.Helper()
	term.await(what, term.screen, ok)
}

// await looks until a condition holds for what it sees. One look proves nothing: the terminal may
// have drawn half of a frame.
func (term *terminal) await(what string, look func() string, ok func(seen string) bool) {
	term.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		seen := look()
		if ok(seen) {
			return
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("%s: never seen. There is:\n%s", what, seen)
		}
		time.Sleep(20 * time.Millisecond) // between two checks
	}
}

func (term *terminal) sees(texts ...string) {
	term.t.Helper()
	for _, text := range texts {
		term.until(text, func(screen string) bool { return strings.Contains(screen, text) })
	}
}

// prompt waits until the program waits for input.
func (term *terminal) prompt() { term.t.Helper(); term.sees("Ask anything") }

func TestTerminal(t *testing.T) {
	term := openTerminal(t, 100, 30)
	term.prompt()
	steps := []struct {
		rule string
		do   func(t *testing.T)
	}{
		{"a reply is streamed, and stays as a plugin changed it", func(t *testing.T) {
			term.keys("footer", "Enter")
			term.sees("the streamed answer", "answering")
			term.openGate()
			term.sees("the final answer", "changed by footer (turn.final)")
			term.until("the end", func(s string) bool { return !strings.Contains(s, "the streamed answer") })
		}},
		{"a tool runs, and /trace shows what plugins did", func(t *testing.T) {
			if err := os.Remove(term.path("gate")); err != nil {
				t.Fatal(err)
			}
			term.keys("tool", "Enter")
			term.sees("running 1 tool", "│ ok      pkg/b")
			term.openGate()
			term.sees("✓ shell  go test ./...", "All tests pass.")
			term.keys("/trace", "Enter")
			term.sees("+ tool #tagged", "→ continue")
		}},
		{"nothing of the live part stays in the scrollback", func(t *testing.T) {
			term.prompt()
			term.nowhere("running", "answering", "thinking", "│ ok      pkg")
			term.once("Ask anything")
		}},
		{"every line of a reply longer than the screen is printed once", func(t *testing.T) {
			term.keys("long", "Enter")
			term.sees("long line 119")
			term.until("the end", func(s string) bool {
				return strings.Contains(s, "Ask anything") && !strings.Contains(s, "esc interrupts")
			})
			term.once(numbered("long line %03d", 120)...)
		}},
		{"/plugins", func(t *testing.T) {
			term.keys("/plugins", "Enter")
			term.sees("hooks   context_enhance", "no reply to initialize within 5s")
		}},
		{"a question is asked and answered", func(t *testing.T) {
			term.keys("ask", "Enter")
			term.sees("Make this change?", "- two", "+ 2")
			term.keys("y")
			term.sees("It is done.")
			term.prompt()
		}},
		{"Ctrl+J makes a line, the up arrow brings it back", func(t *testing.T) {
			term.keys("one", "C-j", "two", "Enter")
			term.sees("you said: one")
			term.prompt()
			term.keys("Up")
			term.sees("❯ one\n  two")
			term.keys("C-c")
			term.prompt()
		}},
		{"a paste keeps its lines and is not sent", func(t *testing.T) {
			term.tmux("set-buffer", "alpha\nbeta\n")
			term.tmux("paste-buffer", "-p")
			term.sees("❯ alpha\n  beta")
			term.keys("C-c")
			term.prompt()
		}},
		{"Ctrl-C interrupts the turn, and only that", func(t *testing.T) {
			term.keys("hang", "Enter")
			term.sees("I begin")
			term.keys("C-c")
			term.sees("interrupted after")
			term.prompt()
		}},
		{"hostile text is harmless", func(t *testing.T) {
			term.keys("evil", "Enter")
			term.sees(`\x1b]0;owned\x07`)
			if title := term.tmux("display-message", "-p", "#{pane_title}"); strings.Contains(title, "owned") {
				t.Errorf("the title is %q", title)
			}
		}},
		{"a narrow window is drawn anew", func(t *testing.T) {
			id := func(s string) bool { return strings.Contains(s, "· ses_01test ") } // in the status line, if there is room
			term.resize(40, 20)
			term.until("a short status", func(s string) bool { return !id(s) })
			term.keys("narrow", "Enter")
			term.sees("you said: narrow")
			term.resize(120, 30)
			term.until("a long status", id)
		}},
		{"Ctrl-C leaves, and the terminal is as it was", func(t *testing.T) {
			term.sees("ctrl+c leaves")
			term.keys("C-c")
			term.sees("go on with it: patchbay chat --resume ses_01test\nleft cleanly\nexit 0")
			if strings.Contains(term.screen(), "Ask anything") {
				t.Errorf("the input is still there:\n%s", term.screen())
			}
		}},
	}
	for _, s := range steps {
		ok := t.Run(s.rule, func(t *testing.T) {
			term.t = t
			s.do(t)
		})
		if term.t = t; !ok {
			t.Fatalf("the steps build on each other; all there was:\n%s", term.all())
		}
	}
}

func TestTerminalWithoutColor(t *testing.T) {
	term := openTerminal(t, 80, 50, "NO_COLOR=1", offlineEnv+"=1")
	term.prompt()
	term.sees("offline model: it plays")
	term.keys("markdown", "Enter")
	term.sees("**bold**")
	term.prompt()
	colors := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-8]|4[0-8]|9[0-7])[;m]`)
	if screen := term.tmux("capture-pane", "-p", "-e"); colors.MatchString(screen) {
		t.Errorf("there are colours: %q", colors.FindString(screen))
	}
}

func TestTerminalSigterm(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	term.keys("hang", "Enter")
	term.sees("I begin")
	pid := strings.TrimSpace(term.tmux("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("pgrep", "-P", pid).Output()
	if err != nil {
		t.Skipf("pgrep: %v", err)
	}
	if err := exec.Command("kill", "-TERM", strings.TrimSpace(string(out))).Run(); err != nil {
		t.Fatal(err)
	}
	term.sees("interrupted after", "left cleanly", "exit 0")
}
