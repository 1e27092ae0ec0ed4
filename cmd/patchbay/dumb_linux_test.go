package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestADumbTerminal: at a terminal that understands no escape sequences the chat reads lines and
// draws nothing.
func TestADumbTerminal(t *testing.T) {
	home := t.TempDir()
	write(t, home, "talk.yaml", `
- {text: Let me look., tools: [{name: shell, arguments: {cmd: touch made}}]}
- {text: Made it., tools: [{name: shell, arguments: {cmd: touch refused}}]}
- {text: So be it., tools: [{name: shell, arguments: {cmd: touch instead}}]}
- text: The end.
`)
	cmd := patchbayIn(home, "chat", "--script", "talk.yaml")
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }), "TERM=dumb")
	master, s, end := atTerminal(t, cmd)
	seen := 0
	answer := func(question, typed string) {
		t.Helper()
		await(t, func() bool { return strings.Contains(s.String()[seen:], question) })
		seen = len(s.String())
		if _, err := master.WriteString(typed + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	answer("> ", "/trace")
	answer("/trace is not available on this terminal", "go")
	answer("Run it?", "y")
	answer("Run it?", "n")
	answer("Run it?", "ask my brother")
	answer("The end.\r\n> ", "/quit")
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text := s.String()
	if i := strings.Index(text, "\x1b"); i >= 0 {
		t.Errorf("an escape sequence: %q", text[i:min(i+20, len(text))])
	}
	if !strings.Contains(text, "go on with it: patchbay chat --resume ses_") {
		t.Errorf("the end: %q", text)
	}
	for name, want := range map[string]bool{"made": true, "refused": false, "instead": false} {
		if _, err := os.Stat(home + "/" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	id := text[strings.LastIndex(text, "ses_"):][:len("ses_01m7ewsr29qp62vnxax7qgqs14")]
	if shown := output(t, home, "session", "show", id); !strings.Contains(shown, "what to do instead: ask my brother") {
		t.Errorf("the transcript: %s", shown)
	}
}
