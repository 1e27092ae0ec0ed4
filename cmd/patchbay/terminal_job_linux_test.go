package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// agentIn makes a home with an agent that fails. The job waits for five minutes before the next
// attempt.
func agentIn(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	dir := filepath.Join(home, ".config/patchbay/agents/fails")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "[agent]\nname = \"fails\"\n[run]\ncommand = \"false\"\n[defaults]\nmax_retries = 2\n"
	if err := os.WriteFile(filepath.Join(dir, "agent.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return home
}

// TestJobRunAtATerminal: at a terminal, `job run` makes one attempt, and says how to make the
// others. With several attempts a countdown shows the time until the next, and Enter starts it now.
func TestJobRunAtATerminal(t *testing.T) {
	home := agentIn(t)
	_, first, end := atTerminal(t, patchbayIn(home, "job", "run", "fails", "--dialect", "mine"))
	if code := end(); code != 1 {
		t.Errorf("exit code %d: %s", code, first)
	}
	await(t, func() bool {
		return strings.Contains(first.String(), "given up after 1 of 1 attempts") &&
			strings.Contains(first.String(), "for all 2 attempts: patchbay job run fails --attempts all")
	})

	terminal, second, end := atTerminal(t, patchbayIn(home, "job", "run", "fails", "--dialect", "mine", "--attempts", "all"))
	await(t, func() bool {
		return strings.Contains(second.String(), "attempt 2 of 2 in 4:5") &&
			strings.Contains(second.String(), "Enter starts it now, Ctrl-C ends the run")
	})
	if list, err := patchbayIn(home, "job", "list").CombinedOutput(); err != nil || !strings.Contains(string(list), "again in 5m") {
		t.Errorf("the list does not show when the next attempt is: %v: %s", err, list)
	}
	if _, err := terminal.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if code := end(); code != 1 {
		t.Errorf("exit code %d: %s", code, second)
	}
	await(t, func() bool { return strings.Contains(second.String(), "\x1b[A\r\x1b[K") }) // the countdown is removed
	await(t, func() bool { return strings.Contains(second.String(), "given up after 2 of 2 attempts") })
}

// TestJobNewAtATerminal: job new asks for what the command line does not say.
func TestJobNewAtATerminal(t *testing.T) {
	home := agentIn(t)
	terminal, s, end := atTerminal(t, patchbayIn(home, "job", "new"))
	for _, c := range []struct{ question, answer string }{
		{"Name (", "my job"}, {`"my job" cannot be a name`, "fails"}, {"agent fails exists already", "greets"},
		{"Command to run", "ehco good morning"}, {"ehco is not a program", "echo good morning | cat"}, {"When?", "25 o'clock"},
		{"is not a time", "07:30"},
	} {
		await(t, func() bool { return strings.Contains(s.String(), c.question) })
		if _, err := terminal.WriteString(c.answer + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if code := end(); code != 0 {
		t.Fatalf("exit code %d: %s", code, s)
	}
	await(t, func() bool { return strings.Contains(s.String(), "run it every day at 07:30") })
	out, err := patchbayIn(home, "job", "run", "greets", "--dialect", "mine").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "good morning\n") {
		t.Errorf("%s, %v", out, err)
	}
}
