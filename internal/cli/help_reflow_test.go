package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestHelpFits: no text of any command's help is wider than the terminal, and no paragraph has a
// line that was broken twice.
func TestHelpFits(t *testing.T) {
	root := newRootCommand(&app{})
	for _, cmd := range append(root.Commands(), root) {
		reflow(cmd, 80)
		room := 80 - helpIndent - widestName(cmd)
		for _, c := range cmd.Commands() {
			for line := range strings.SplitSeq(c.Short, "\n") {
				if ansi.StringWidth(line) > room {
					t.Errorf("%s: %q is wider than %d", c.CommandPath(), line, room)
				}
			}
		}
	}
	if got, want := hang("    1  it could not be\n    2  usage", 20, 7), "    1  it could not\n       be\n    2  usage"; got != want {
		t.Errorf("hung is %q", got)
	}
	long := strings.Repeat("word ", 13) + "\nand so on.\n\nA list:\n  one\n  two"
	if got, want := unbroken(long), strings.Repeat("word ", 13)+" and so on.\n\nA list:\n  one\n  two"; got != want {
		t.Errorf("unbroken is %q", got)
	}
}
