package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reflow fits a command's texts to the screen, before fang draws them: fang breaks lines where they
// are too long, which leaves shreds of lines that were broken already, and does not break what it
// writes behind names.
func reflow(cmd *cobra.Command, width int) {
	if width <= 0 {
		return
	}
	cmd.Long = unbroken(cmd.Long)
	room := max(width-helpIndent-widestName(cmd), 20)
	for _, c := range cmd.Commands() {
		c.Short = ansi.Wordwrap(c.Short, room, "")
	}
	cmd.InheritedFlags() // has cmd.Flags hold them, too
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		space := room
		if hasDefault(f) {
			space -= len(f.DefValue) + len(" ()")
		}
		f.Usage = ansi.Wordwrap(f.Usage, space, "")
	})
}

// hang breaks the lines of a section, and moves what goes on to where the text of its first line
// begins.
func hang(text string, width, column int) string {
	if width <= column {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		name, rest := line[:min(column, len(line))], line[min(column, len(line)):]
		rest = ansi.Wordwrap(rest, width-column, "")
		lines = append(lines, name+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", column)))
	}
	return strings.Join(lines, "\n")
}

// helpIndent is what fang leaves free before and behind a name.
const helpIndent = 4 + 2

// widestName is how wide the names of commands and flags are at most, with what fang says of their
// arguments.
func widestName(cmd *cobra.Command) int {
	widest := 0
	for _, c := range cmd.Commands() {
		name := c.Use
		if c.HasAvailableSubCommands() {
			name += " [command]"
		}
		if c.Flags().HasAvailableFlags() {
			name += " [--flags]"
		}
		widest = max(widest, ansi.StringWidth(name))
	}
	flags := func(f *pflag.Flag) { widest = max(widest, len("-x --")+len(f.Name)) }
	cmd.Flags().VisitAll(flags)
	cmd.InheritedFlags().VisitAll(flags) // cmd.Flags has them only where somebody asked for them before
	return widest
}

// brokenAt is how long a line is at least that was broken because the next word did not fit.
const brokenAt = 60

// unbroken joins the lines of each paragraph. Lists and what is indented stay.
func unbroken(text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		switch {
		case i == len(lines)-1:
		case len(line) >= brokenAt && isProse(line) && isProse(lines[i+1]):
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func isProse(line string) bool {
	return line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "- ")
}
