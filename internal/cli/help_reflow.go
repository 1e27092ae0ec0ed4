package cli

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// reflow fits a command's texts to the screen, before fang draws them: fang breaks lines where they
// are too long, which leaves shreds of lines that were broken already, and does not break what it
// writes behind names. It cuts examples off, and leaves out what the value of a flag is called:
// both are drawn by us.
func reflow(cmd *cobra.Command, width int) {
	cmd.Long, cmd.Example = unbroken(cmd.Long), ""
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // has cmd.Flags hold them, too
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	room := max(width-helpIndent-widestName(cmd), 20)
	for _, c := range append(cmd.Commands(), cmd) {
		c.Use = strings.TrimSuffix(c.Use, " [COMMAND]") // fang says [command] itself
		c.Short = render.Wrap(c.Short, room, "")
	}
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
		rest = render.Wrap(rest, width-column, "")
		lines = append(lines, name+strings.ReplaceAll(rest, "\n", "\n"+strings.Repeat(" ", column)))
	}
	return strings.Join(lines, "\n")
}

// helpIndent is what fang leaves free before and behind a name.
const helpIndent = 4 + 2

// widestName is how wide the names of commands are at most, with what fang says of their arguments.
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
	return widest
}

// fitExamples breaks the examples that are wider than the screen where a shell goes on reading: at
// a space outside of quotes, behind a backslash.
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
