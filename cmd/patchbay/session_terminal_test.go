//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// atPatchbay runs the command in its own terminal.
func atPatchbay(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	path, err := exec.LookPath("patchbay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := patchbayIn(home, args...)
	cmd.Path = path
	return openTerminal(t, cmd)
}

// startSession sends a message in a new session.
func startSession(t *testing.T, home, text string) {
	t.Helper()
	if out, err := patchbayIn(home, "chat", "-p", text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestSessionsInATerminal chooses a session with `chat --resume`, switches to another one, begins a
// new one, and quits.
func TestSessionsInATerminal(t *testing.T) {
	home := t.TempDir()
	startSession(t, home, "about the fox")
	startSession(t, home, "about the hen")

	term := atPatchbay(t, home, "chat", "--resume")
	term.shows("Go on with which session?", "2 sessions", "❯ about the hen", "about the fox")
	term.keys("-l", "FOX")
	term.shows("1 of 2", "❯ about the fox")
	term.keys("Enter")
	term.shows("patchbay chat", "You said: about the fox", "Ask anything")

	fox := strings.TrimSpace(output(t, home, "session", "list", "--json"))
	if ids := strings.Count(fox, `"id"`); ids != 2 {
		t.Fatalf("%d sessions: %s", ids, fox)
	}
	if out, err := patchbayIn(home, "session", "delete", "--yes", idOfTitle(fox, "about the fox")).CombinedOutput(); err == nil || !strings.Contains(string(out), "has the conversation open") {
		t.Errorf("deleting an open session: %s, %v", out, err)
	}

	term.keys("-l", "/sessions")
	term.keys("Enter")
	term.shows("1 session", "❯ about the hen")
	term.keys("Enter")
	term.shows("· about the hen", "You said: about the hen")
	term.keys("-l", "/new")
	term.keys("Enter")
	term.shows("a new session")
	term.keys("-l", "about the owl")
	term.keys("Enter")
	term.shows("You said: about the owl")
	term.keys("-l", "/quit")
	term.keys("Enter")
	term.ended()

	list := output(t, home, "session", "list")
	for _, title := range []string{"about the owl", "about the hen", "about the fox"} {
		if !strings.Contains(list, title) {
			t.Errorf("%s is not listed:\n%s", title, list)
		}
	}
	if out, err := patchbayIn(home, "session", "delete", "--yes", idOfTitle(fox, "about the fox")).CombinedOutput(); err != nil {
		t.Errorf("deleting a session that is no longer open: %s, %v", out, err)
	}
}

// TestAClosedTerminal: when its terminal is closed, a chat ends as after Ctrl+D. An answer that has
// begun is stored. A session without messages is not stored.
func TestAClosedTerminal(t *testing.T) {
	home := t.TempDir()
	script := filepath.Join(home, "slow.yaml")
	if err := os.WriteFile(script, []byte("- {text: one two three four five six seven eight nine ten, delay: 5s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := atPatchbay(t, home, "chat")
	silent.shows("Ask anything")
	silent.close()
	talking := atPatchbay(t, home, "chat", "--script", script)
	talking.shows("Ask anything")
	talking.keys("-l", "count")
	talking.keys("Enter")
	talking.shows("● one")
	talking.close()
	list := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		list = output(t, home, "session", "list", "--json")
		if strings.Count(list, `"id"`) == 1 && strings.Contains(output(t, home, "session", "show", idOfTitle(list, "count")), "[interrupted]") {
			return
		}
	}
	t.Errorf("the session without messages is listed, or the answer is not stored: %s", list)
}

// close closes the terminal. Its program gets SIGHUP.
func (term *terminal) close() {
	term.t.Helper()
	if out, err := term.tmux("kill-server").CombinedOutput(); err != nil {
		term.t.Fatalf("kill-server: %v: %s", err, out)
	}
}

func output(t *testing.T, home string, args ...string) string {
	t.Helper()
	out, err := patchbayIn(home, args...).Output()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// idOfTitle returns the id of the session with a title, from a list as JSON.
func idOfTitle(list, title string) string {
	before, _, _ := strings.Cut(list, `"title":"`+title+`"`)
	at := strings.LastIndex(before, "ses_")
	return before[at : at+30]
}

// TestDeletingASessionAsks: on a terminal, `session delete` asks, and the default is no.
func TestDeletingASessionAsks(t *testing.T) {
	home := t.TempDir()
	startSession(t, home, "keep me")
	id := idOfTitle(output(t, home, "session", "list", "--json"), "keep me")
	checkDeletion(t, home, id, "n", true)
	checkDeletion(t, home, id, "yes", false)
}

func checkDeletion(t *testing.T, home, id, answer string, left bool) {
	t.Helper()
	term := atPatchbay(t, home, "session", "delete", id)
	term.shows(`delete "keep me", session ` + id + "? [y/N]")
	term.keys("-l", answer)
	term.keys("Enter")
	term.ended()
	if strings.Contains(output(t, home, "session", "list"), "keep me") != left {
		t.Errorf("after %q the session is there: %v", answer, !left)
	}
}
