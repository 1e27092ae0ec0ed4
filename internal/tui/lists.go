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

// States of a [PluginRow] whose plugin is not broken.
const (
	stateReady   = "ready"    // it is in use
	StateLeftOut = "left out" // it works, but the user has left it out
)

// hello prints the beginning: the model, the directory, and the conversation so far.
func (s *screen) hello() {
	this, info := s.talk.Session(), s.talk.Model()
	s.printer.add(blockNote, []string{
		render.Cut(s.look.bold("patchbay chat")+s.look.dim(" · "+modelName(info)+" · /help"), s.look.cols()),
		s.look.dim(render.Cut(render.Line(s.short(this.WorkingDir)), s.look.cols())),
	})
	s.printBanner()
	s.printBroken()
	if info.Offline {
		s.printWarning(s.offlineText())
	}
	s.printPast()
}

// printPast prints the conversation before it was opened here.
func (s *screen) printPast() {
	past := s.talk.History()
	s.context = contextSize{}
	if len(past) > 0 {
		s.estimateContext(past)
	}
	s.printHistory(past)
}

// printBanner prints what the project provides.
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

// printBroken names the plugins that cannot take part.
func (s *screen) printBroken() {
	const most = 5
	names := broken(s.talk.Plugins())
	if len(names) == 0 {
		return
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if rest := len(names) - most; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	s.printWarning("these plugins do not work: " + text + "; /plugins says why")
}

// listPlugins prints every plugin on its own line, and below it what it does, or why it does not
// work.
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

// labelled returns foreign text after a label, wrapped in its own column.
func (l look) labelled(label, text string, style render.Style) []string {
	const width = 10
	head := fmt.Sprintf("  %-*s", width-len(gap), label)
	return hang(l.dim(head), l.paintLines(style, text, l.cols()-width))
}

// listTools prints every tool on its own line, and below it the first line of its description.
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

// tableLines draws a table in the width of the screen.
func (s *screen) tableLines(rows [][]render.Cell) []string {
	var b strings.Builder
	if err := render.Table(&b, rows, s.look.options()); err != nil {
		return []string{s.look.paint(render.StyleRed, errorText(err))} // cannot happen: a builder accepts everything
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// printPairs prints names and their meanings in two columns. It wraps the second.
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

// withValues removes the pairs without a value.
func withValues(pairs [][2]string) [][2]string {
	return slices.DeleteFunc(pairs, func(p [2]string) bool { return p[1] == "" })
}
