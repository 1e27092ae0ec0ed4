package tui

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A choice is one line of the menu below the input: what the input would become, and what that
// means.
type choice struct {
	text, about string
	put         string // what the input becomes, if that is not text
	spaced      bool   // Tab adds a space, because any text may follow
}

// menu returns what the input could become; nothing if it is neither a command nor ends with a
// mention, or if it is complete.
func (b *inputBox) menu() []choice {
	text := b.value()
	if b.closed {
		return nil
	}
	if paths := b.pathChoices(); len(paths) > 0 {
		return paths
	}
	if !strings.HasPrefix(text, "/") || strings.Contains(text, "\n") {
		return nil
	}
	name, arg, spaced := strings.Cut(text, " ")
	if spaced {
		return b.argumentChoices(name, arg)
	}
	var out []choice
	for _, c := range commands() {
		switch {
		case c.name == name: // first, so that Enter runs the typed command
			out = append([]choice{{text: c.name, about: c.about}}, out...)
		case strings.HasPrefix(c.name, name):
			out = append(out, choice{text: c.name, about: c.about})
		}
	}
	for _, c := range b.prompts.choices(name) {
		if c.text == name { // the same
			out = append([]choice{c}, out...)
		} else {
			out = append(out, c)
		}
	}
	if len(out) == 1 && out[0].text == text {
		return nil
	}
	return out
}

func (b *inputBox) argumentChoices(name, arg string) []choice {
	c, ok := findCommand(name)
	if !ok {
		return nil
	}
	all := c.arguments
	if c.offer != nil && b.offers != nil {
		all = b.offers(c)
	}
	var out []choice
	for _, a := range all {
		if strings.HasPrefix(a.text, arg) && a.text != arg {
			out = append(out, choice{text: name + " " + a.text, about: a.about})
		}
	}
	return out
}

// defaultChoice returns the choice before an arrow key was pressed: the first line, or none if the
// argument may be any text.
func (b *inputBox) defaultChoice() int {
	name, _, spaced := strings.Cut(b.value(), " ")
	if c, ok := findCommand(name); spaced && ok && c.free {
		return -1
	}
	return 0
}

func (b *inputBox) closeMenu() { b.closed = true }

// choose moves in the menu, and wraps around at its ends.
func (b *inputBox) choose(down bool, n int) {
	step := n - 1
	if b.chosen < 0 && !down {
		b.chosen = 0
	}
	if down {
		step = 1
	}
	b.chosen = (b.chosen + step) % n
}

// complete puts the chosen line into the input.
func (b *inputBox) complete(menu []choice) {
	c := menu[max(min(b.chosen, len(menu)-1), 0)]
	b.area.Reset()
	b.area.InsertString(cmp.Or(c.put, c.text))
	if c.spaced {
		b.area.InsertString(" ")
	}
	b.chosen, b.closed = b.defaultChoice(), false
}

// menuHint says what keys do in the menu.
func menuHint(menu []choice) string {
	if menu[0].put != "" {
		return "  enter or tab takes it · esc closes"
	}
	return "  enter runs · tab completes · esc closes"
}

// maxMenu is how many choices are visible at a time.
const maxMenu = 6

// menuLines draws the part of the menu that there is room for, the chosen line in it.
func (l look) menuLines(menu []choice, chosen int, room space) []string {
	chosen = min(chosen, len(menu)-1)
	width := 0
	for _, c := range menu {
		width = max(width, ansi.StringWidth(c.text))
	}
	var out []string
	for i, c := range menu {
		name := c.text + strings.Repeat(" ", width-ansi.StringWidth(c.text))
		mark, style := gap, render.StylePlain
		if i == chosen {
			mark, style = markUser, render.StyleCyan
		}
		about := render.Cut(c.about, max(l.cols()-width-2*len(gap), 1))
		out = append(out, l.paint(style, mark+name)+gap+l.dim(about))
	}
	rows := min(room.count(out), maxMenu)
	first := max(0, chosen-rows+1)
	return out[first:min(first+rows, len(out))]
}
