package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestHelpFitsWithoutColours: on a terminal without colours no line of any help is wider than the
// screen, except examples that cannot be broken.
func TestHelpFitsWithoutColours(t *testing.T) {
	for _, width := range []int{80, 40} {
		for _, cmd := range manCommands(newRootCommand(&app{})) {
			c := newConsole(t, "NO_COLOR=1")
			c.OutTTY, c.Width = true, width
			c.run(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
			for line := range strings.Lines(c.out.String()) {
				words := shellParts(strings.TrimSuffix(strings.TrimSpace(line), " \\"))
				if ansi.StringWidth(strings.TrimRight(line, "\n")) > width && len(words) > 1 && !strings.HasPrefix(line, "  patchbay") {
					t.Errorf("%s: wider than %d: %s", cmd.CommandPath(), width, line)
				}
				if strings.Contains(line, "`") && strings.HasPrefix(strings.TrimSpace(line), "--") {
					t.Errorf("%s: a value in backquotes: %s", cmd.CommandPath(), line)
				}
			}
		}
	}
}

// TestStyledHelpHasEveryArgument: reflow removes no argument of a usage line, and fang, which puts
// everything from the first [ to the last ] at the end of the line, does not change its order.
func TestStyledHelpHasEveryArgument(t *testing.T) {
	for _, cmd := range manCommands(newRootCommand(&app{})) {
		use := cmd.Use
		reflow(cmd, 80)
		if cmd.Use != use && !cmd.HasAvailableSubCommands() {
			t.Errorf("%s: the usage %q has become %q", cmd.CommandPath(), use, cmd.Use)
		}
		if strings.Contains(use, "[") && !strings.HasSuffix(use, "]") {
			t.Errorf("%s: fang would change the order of %q", cmd.CommandPath(), use)
		}
	}
}

func TestFitExamples(t *testing.T) {
	text := "  curl -X POST http://x -H 'a b: c d' -d '{}'\n  short"
	if got, want := fitExamples(text, 30), "  curl -X POST http://x -H \\\n      'a b: c d' -d '{}'\n  short"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := fitExamples(text, 0); got != text {
		t.Errorf("without a screen: %s", got)
	}
}

// TestHelpFits: no text of any command's help is wider than the terminal, and no paragraph has a
// line that was broken twice.
func TestHelpFits(t *testing.T) {
	root := newRootCommand(&app{})
	for _, cmd := range append(root.Commands(), root) {
		short := cmd.Short
		reflow(cmd, 80)
		if cmd.Short != short {
			t.Errorf("%s: the text is in the column of its subcommands: %q", cmd.CommandPath(), cmd.Short)
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if ansi.StringWidth(line) > 80-fangIndent && strings.Contains(line, " ") {
				t.Errorf("%s: fang would break %q", cmd.CommandPath(), line)
			}
		}
		room := 80 - helpIndent - widestName(cmd)
		for _, c := range cmd.Commands() {
			for line := range strings.SplitSeq(c.Short, "\n") {
				if ansi.StringWidth(line) > room || helpIndent+narrowest+ansi.StringWidth(line) > 80 {
					t.Errorf("%s: %q is wider than %d", c.CommandPath(), line, room)
				}
			}
		}
	}
	if got, want := wrapHanging("    1  it could not be\n    2  usage", 20, 7), "    1  it could not\n       be\n    2  usage"; got != want {
		t.Errorf("wrapped text is %q", got)
	}
	long := strings.Repeat("word ", 13) + "\nand so on.\n\nA list:\n  one\n  two"
	if got, want := joinParagraphs(long), strings.Repeat("word ", 13)+" and so on.\n\nA list:\n  one\n  two"; got != want {
		t.Errorf("joined paragraphs are %q", got)
	}
}
