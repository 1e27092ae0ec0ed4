package hook

import "testing"

// TestReasonLine: of a program's stderr, an error shows the line that explains why it ended.
func TestReasonLine(t *testing.T) {
	for stderr, want := range map[string]string{
		"":           "",
		"one\ntwo\n": "two",
		"Error: no module x\n\nNode.js v22.1.0\n":                              "Error: no module x",
		"error: Cannot find package 'x'\n\nBun v1.4.4 (Linux x64)\n":           "error: Cannot find package 'x'",
		"Traceback:\n  File \"a\"\nModuleNotFoundError: No module named 'x'\n": "ModuleNotFoundError: No module named 'x'",
	} {
		if got := ReasonLine(stderr); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}
