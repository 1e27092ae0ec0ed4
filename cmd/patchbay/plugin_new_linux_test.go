package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPluginNewAsksAtATerminal: `plugin new` asks for everything that the command line does not
// say. It asks again after an invalid name, and shows the whole reason on a narrow terminal. At the
// end nothing of the form is left on the screen.
func TestPluginNewAsksAtATerminal(t *testing.T) {
	home := t.TempDir()
	master, screen, end := atTerminalOf(t, patchbayIn(home, "plugin", "new", "--lang", "bash"), &unix.Winsize{Row: 40, Col: 64})
	answer := func(question, text string) {
		t.Helper()
		await(t, func() bool { return strings.Contains(screen.String(), question) })
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	answer("Which dialect?", "\x1b[B\r") // the second: kaged
	answer("Name of the plugin", "kaged\r")
	answer("reserved", "One\r")
	answer("hyphens", "\x15kaged-one\r")
	if code := end(); code != 0 {
		t.Fatalf("exit code %d, on the screen: %q", code, screen)
	}
	const message = `is not a valid name for a kaged plugin in bash: lower-case letters and digits, a letter first, single hyphens between; try`
	for word := range strings.FieldsSeq(message) { // the form breaks the message into lines
		if !strings.Contains(screen.String(), word) {
			t.Errorf("%q is not on the screen: %q", word, screen)
		}
	}
	if !strings.Contains(screen.String(), "./kaged-one, a kaged plugin in bash") {
		t.Errorf("the end does not name what was made: %q", screen)
	}
	if _, err := os.Stat(filepath.Join(home, "kaged-one", "manifest.yaml")); err != nil {
		t.Error(err)
	}
}
