package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// manPage returns the manual page of a command in roff, the language of man.
func manPage(c *cobra.Command) string {
	var p roff
	p.line(`.TH "%s" 1 "" "patchbay %s" "Patchbay"`, strings.ToUpper(manName(c)), pluginhost.Version)
	p.section("name")
	p.line("%s \\- %s", roffText(manName(c)), roffText(c.Short))
	p.section("synopsis")
	p.line("%s", roffText(useLine(c)))
	p.section("description")
	p.paragraphs(cmp.Or(c.Long, c.Short))
	p.commands(c)
	p.flags("options", c.LocalNonPersistentFlags())
	p.flags("global options", globalFlagsOf(c))
	if examples := manExamples(c); examples != "" {
		p.section("examples")
		p.verbatim(examples)
	}
	p.section("exit status")
	p.verbatim(cmp.Or(c.Annotations[exitKey], c.Root().Annotations[exitKey]))
	p.section("see also")
	p.line("%s", manSeeAlso(c))
	return p.String()
}

// manExamples returns the examples of a command. Those of patchbay itself are the most useful
// commands. If a command has none, they are the first examples of the commands below it.
func manExamples(c *cobra.Command) string {
	if c.Example != "" {
		return c.Example
	}
	var lines []string
	if !c.HasParent() {
		for _, line := range firstCommands {
			lines = append(lines, fmt.Sprintf("  %-22s # %s", line[0], line[1]))
		}
		return strings.Join(lines, "\n")
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if first, _, _ := strings.Cut(strings.Trim(manExamples(sub), "\n"), "\n"); first != "" {
			lines = append(lines, first)
		}
	}
	return strings.Join(lines, "\n")
}

// everyExit lists what exit codes mean in general. The help of a command says what they mean for
// it.
var everyExit = []exit{
	{exitOK, "done"}, {exitFailed, "the command failed"}, {exitRefused, "a plugin or you refused, or the command will not overwrite a file or directory"},
	{exitNotFound, "no such plugin, tool, session or other thing"}, {exitChecks, "a plugin breaks a rule of its protocol, or differs from a recording"},
	{exitTaken, "the address of the daemon is in use"}, {exitPipe, "the reader of the output, such as head, has ended"},
}

// A roff is a manual page that is being written.
type roff struct{ strings.Builder }

func (p *roff) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *roff) section(title string) { p.line(".SH %s", strings.ToUpper(title)) }

// paragraphs writes a text that is already wrapped. Indented parts stay as they are; the rest is
// filled to the reader's width.
func (p *roff) paragraphs(text string) {
	for _, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(part, "  ") {
			p.verbatim(part)
			continue
		}
		p.line(".PP\n%s", roffText(part))
	}
}

// verbatim keeps the lines of a text.
func (p *roff) verbatim(text string) {
	p.line(".PP\n.nf\n%s\n.fi", roffText(strings.Trim(text, "\n")))
}

func (p *roff) commands(c *cobra.Command) {
	var rows []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, sub)
		}
	}
	if len(rows) == 0 {
		return
	}
	p.section("commands")
	for _, sub := range rows {
		p.line(".TP\n\\fB%s\\fR\n%s", roffText(sub.Name()), roffText(sub.Short))
	}
}

func (p *roff) flags(title string, flags *pflag.FlagSet) {
	rows := flagTexts(flags)
	if len(rows) == 0 {
		return
	}
	p.section(title)
	for _, f := range rows {
		p.line(".TP\n\\fB%s\\fR\n%s", roffText(strings.TrimSpace(f.name)), roffText(f.usage))
	}
}

// roffText escapes what roff would interpret: backslashes, hyphens, and dots and quotes at the
// beginning of a line.
func roffText(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
