package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// stateReady is the state of a plugin that takes part.
const stateReady = "ready"

// hello is what the program begins with: who answers, where, and what was said before.
func (s *screen) hello() {
	this, info := s.talk.Session(), s.talk.Model()
	s.printer.add(blockNote, []string{
		render.Cut(s.look.bold("patchbay chat")+s.look.dim(" · "+modelName(info)+" · /help"), s.look.cols()),
		s.look.dim(render.Cut(render.Line(this.WorkingDir), s.look.cols())),
	})
	s.printBanner()
	if info.Offline {
		s.printWarning(s.offlineText())
	}
	s.printPast()
}

// printPast shows what was said in the session before it was opened here.
func (s *screen) printPast() {
	past := s.talk.History()
	s.context = contextSize{}
	if len(past) > 0 {
		s.context.estimate(past)
	}
	s.printHistory(past)
}

// printBanner says what the project at hand brings along.
func (s *screen) printBanner() {
	if s.banner == nil {
		return
	}
	for _, line := range s.banner() {
		if line.Warning {
			s.printWarning(line.Text)
		} else {
			s.printer.add(blockNote, []string{s.look.dim(render.Cut(render.Line(line.Text), s.look.cols()))})
		}
	}
}

// listPlugins shows every plugin: a line of its own, and below it what it does or why it does not.
func (s *screen) listPlugins(string) tea.Cmd {
	s.plugins = s.talk.Plugins()
	if len(s.plugins) == 0 {
		s.printNote("no plugin was found; /plugin writes one")
		return nil
	}
	rows := make([][]render.Cell, len(s.plugins))
	for i, p := range s.plugins {
		rows[i] = pluginRow(p)
	}
	heads := s.tableLines(rows)
	var out []string
	for i, p := range s.plugins {
		out = append(append(out, heads[i]), s.look.pluginDetail(p)...)
	}
	s.printLines(strings.Join(out, "\n"))
	return nil
}

func pluginRow(p PluginRow) []render.Cell {
	style := render.StyleDim
	switch {
	case p.State == stateReady:
		style = render.StyleGreen
	case p.Error != "":
		style = render.StyleRed
	}
	return []render.Cell{{Text: p.Name, Style: render.StyleBold}, {Text: p.Dialect}, {Text: p.State, Style: style},
		{Text: p.Version, Style: render.StyleDim}}
}

func (l look) pluginDetail(p PluginRow) []string {
	var out []string
	for _, part := range [][2]string{{"hooks", strings.Join(p.Hooks, ", ")}, {"tools", strings.Join(p.Tools, ", ")}} {
		if part[1] != "" {
			out = append(out, l.labelled(part[0], part[1], render.StyleDim)...)
		}
	}
	if p.Error != "" {
		out = append(out, l.labelled("error", p.Error, render.StyleRed)...)
	}
	return out
}

// labelled is foreign text behind a label, wrapped below its own beginning.
func (l look) labelled(label, text string, style render.Style) []string {
	const width = 10
	head := fmt.Sprintf("  %-*s", width-len(gap), label)
	return hang(l.dim(head), l.paintLines(style, text, l.cols()-width))
}

// listTools shows every tool in the same way.
func (s *screen) listTools(string) tea.Cmd {
	tools := s.talk.Tools()
	if len(tools) == 0 {
		s.printNote("the model has no tools")
		return nil
	}
	rows := make([][]render.Cell, len(tools))
	for i := range tools {
		rows[i] = toolRow(&tools[i])
	}
	heads := s.tableLines(rows)
	var out []string
	for i := range tools {
		about, _, _ := strings.Cut(strings.TrimSpace(tools[i].Description), "\n")
		out = append(append(out, heads[i]), hang(gap, s.look.paintLines(render.StyleDim, about, s.look.cols()-len(gap)))...)
	}
	s.printLines(strings.Join(out, "\n"))
	return nil
}

func toolRow(t *chat.Tool) []render.Cell {
	owner, asks := "built in", ""
	if t.Plugin != "" {
		owner = t.Plugin
	}
	if t.Changes {
		asks = "asks first"
	}
	return []render.Cell{{Text: t.Name, Style: render.StyleBold}, {Text: owner}, {Text: asks, Style: render.StyleYellow}}
}

// tableLines lays out a table in the width of the screen.
func (s *screen) tableLines(rows [][]render.Cell) []string {
	var b strings.Builder
	if err := render.Table(&b, rows, s.look.options()); err != nil {
		return []string{s.look.paint(render.StyleRed, errorText(err))} // no such thing: a builder takes all
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// printPairs prints names and what they mean, in two columns; what is too long for the second is
// wrapped in it.
func (s *screen) printPairs(pairs [][2]string) {
	width := 0
	for _, p := range pairs {
		width = max(width, ansi.StringWidth(p[0]))
	}
	width = min(width, s.look.cols()/2)
	var out []string
	for _, p := range pairs {
		name := render.Cut(render.Line(p[0]), width)
		name += strings.Repeat(" ", width-ansi.StringWidth(name)) + gap
		out = append(out, hang(s.look.paint(render.StyleCyan, name), wrap(render.Line(p[1]), s.look.cols()-width-len(gap)))...)
	}
	s.printLines(strings.Join(out, "\n"))
}

// known leaves out the pairs that have nothing to say.
func known(pairs [][2]string) [][2]string {
	return slices.DeleteFunc(pairs, func(p [2]string) bool { return p[1] == "" })
}
