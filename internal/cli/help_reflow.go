package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// reflow changes the texts of a command before fang draws them. Fang wraps text that is already
// wrapped, which leaves fragments of lines, and it breaks lines within --flags. It does not wrap
// descriptions after names. It also cuts examples off and leaves out metavariables, so we draw
// examples and flags ourselves.
func reflow(cmd *cobra.Command, width int) {
	cmd.Long, cmd.Example = render.Wrap(joinParagraphs(cmd.Long), min(width, fangWidth)-fangIndent, ""), ""
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // adds them to cmd.Flags
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	room := max(width-helpIndent-widestName(cmd), 20)
	for _, c := range append(cmd.Commands(), cmd) {
		if c.HasAvailableSubCommands() {
			c.Use = strings.TrimSuffix(c.Use, " [COMMAND]") // fang adds [command] itself
		}
		if c != cmd { // its own text has the whole width
			c.Short = render.Wrap(c.Short, room, "")
		}
	}
}

// wrapHanging wraps the lines of a section. Continuation lines begin in the given column.
func wrapHanging(text string, width, column int) string {
	if width <= column {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		name, rest := line[:min(column, len(line))], line[min(column, len(line)):]
		rest = render.Wrap(rest, width-column, "")
		lines = append(lines, name+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", column)))
	}
	return strings.Join(lines, "\n")
}

// Fang indents texts by fangIndent, and uses at most fangWidth columns.
const (
	fangIndent = 2
	fangWidth  = 120
)

// helpIndent is the width that fang leaves free before and after a name.
const helpIndent = 4 + 2

// narrowest is the least width that fang gives to names.
const narrowest = 8

// widestName returns the width of the longest command name, with the words that fang adds for
// arguments.
func widestName(cmd *cobra.Command) int {
	widest := narrowest
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
	return widest
}

// fitExamples breaks examples that are wider than the screen: at a space outside of quotes, with a
// backslash, so that a shell reads them as one line.
func fitExamples(text string, width int) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		if width > 0 && ansi.StringWidth(line) > width {
			lines[i] = fitExample(line, width)
		}
	}
	return strings.Join(lines, "\n")
}

func fitExample(line string, width int) string {
	const more, indent = " \\", "    "
	body := strings.TrimLeft(line, " ")
	first := line[:len(line)-len(body)]
	out, at := "", first
	for _, word := range shellParts(body) {
		switch {
		case at == first && out == "":
			at += word
		case ansi.StringWidth(at+" "+word+more) > width:
			out += at + more + "\n"
			at = first + indent + word
		default:
			at += " " + word
		}
	}
	return out + at
}

// shellParts splits a command line at the spaces outside of quotes.
func shellParts(line string) []string {
	var quote rune
	parts := []string{""}
	for _, r := range line {
		switch {
		case quote == 0 && r == ' ':
			parts = append(parts, "")
			continue
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		}
		parts[len(parts)-1] += string(r)
	}
	return parts
}

// brokenAt is a length: a line that is at least this long counts as broken because the next word
// did not fit.
const brokenAt = 60

// joinParagraphs joins the lines of each paragraph. Lists and indented lines stay.
func joinParagraphs(text string) string {
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
