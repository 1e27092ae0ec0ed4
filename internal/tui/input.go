package tui

import (
	"fmt"
	"strings"
	"unicode"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const (
	maxInputLines = 10      // the tallest input; a longer text scrolls
	maxInput      = 1 << 20 // characters of a message
	// The input shows a mark in the place of a paste that is longer than this. The user cannot read
	// or edit the paste there. It is inserted when the message is sent.
	foldLines = 20
	foldBytes = 4 << 10
)

// An inputBox is where the user types.
type inputBox struct {
	area   textarea.Model
	past   past
	pastes []string // the texts behind the marks [paste #N: …]
	find   *finder  // the search in the history; nil: none
	chosen int      // in the menu
	closed bool     // Esc closed the menu, until something is typed

	files  pathList               // that can be mentioned
	offers func(command) []choice // the arguments of a command that only the screen knows; nil: none

	prompts promptList // for the menu
}

func newInputBox(l look) *inputBox {
	area := textarea.New()
	area.ShowLineNumbers = false
	area.Placeholder = "Ask anything, or / for commands, @ for files, ! for a shell"
	area.CharLimit = maxInput
	area.DynamicHeight, area.MinHeight, area.MaxHeight = true, 1, maxInputLines
	area.MaxContentHeight = maxInput // in wrapped lines; CharLimit is the limit that counts
	area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	area.SetPromptFunc(len(gap), func(info textarea.PromptInfo) string {
		if info.LineNumber == 0 {
			return markUser
		}
		return gap
	})
	area.SetStyles(inputStyles())
	area.SetVirtualCursor(false)
	area.Focus()
	b := &inputBox{area: area}
	b.resize(l)
	return b
}

// inputStyles keeps the text in the terminal's own style.
func inputStyles() textarea.Styles {
	plain := lipgloss.NewStyle()
	state := textarea.StyleState{Base: plain, Text: plain, CursorLine: plain, EndOfBuffer: plain,
		Placeholder: plain.Faint(true), Prompt: plain.Foreground(lipgloss.Cyan)}
	return textarea.Styles{Focused: state, Blurred: state, Cursor: textarea.CursorStyle{Blink: true}}
}

func (b *inputBox) resize(l look) {
	const around = 3 // the rules and the status, which are as wide as the input
	rows := rowsAt(l.narrow(), []string{strings.Repeat("─", l.cols())})
	b.area.MaxHeight = max(min(maxInputLines, l.liveRoom()-around-1, l.height/rows-around), 1)
	b.area.SetWidth(l.cols())
}

// value returns the input as it is shown.
func (b *inputBox) value() string { return b.area.Value() }

// text returns the input with the pasted texts in place of their marks.
func (b *inputBox) text() string {
	pairs := make([]string, 0, 2*len(b.pastes))
	for i, paste := range b.pastes {
		pairs = append(pairs, pasteMark(i, paste), paste)
	}
	return strings.NewReplacer(pairs...).Replace(b.value())
}

func (b *inputBox) clear() {
	b.find = nil
	b.area.Reset()
	b.pastes = nil
	b.chosen, b.closed = 0, false
	b.past.leave()
}

// set puts a text into the input, as if it had been pasted.
func (b *inputBox) set(text string) {
	b.area.Reset()
	b.pastes = nil
	b.paste(text)
}

// appendText adds a text on its own line after the input.
func (b *inputBox) appendText(text string) {
	b.area.MoveToEnd()
	if b.value() != "" {
		b.area.InsertString("\n")
	}
	b.paste(text)
}

func (b *inputBox) update(msg tea.Msg) tea.Cmd {
	before := b.value()
	var cmd tea.Cmd
	b.area, cmd = b.area.Update(msg)
	if b.value() != before {
		b.chosen, b.closed = b.defaultChoice(), false
	}
	return cmd
}

// paste inserts a text unchanged; a long one as a mark.
func (b *inputBox) paste(text string) {
	text = cleanPaste(text)
	lines := strings.Count(text, "\n")
	// The text area replaces tabs with spaces, which breaks a Makefile.
	tabs := lines > 0 && strings.Contains(text, "\t")
	if lines > foldLines || len(text) > foldBytes || tabs {
		b.pastes = append(b.pastes, excerpt.Head(text, maxInput))
		text = pasteMark(len(b.pastes)-1, text)
	}
	b.update(tea.PasteMsg{Content: text})
}

func pasteMark(i int, text string) string {
	return fmt.Sprintf("[paste #%d: %d lines]", i+1, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
}

// cleanPaste unifies line ends, and removes the control characters in text that was copied from a
// terminal.
func cleanPaste(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// older goes back in the history if the cursor is on the first line, and reports whether it did.
func (b *inputBox) older() bool {
	if b.area.Line() > 0 || b.area.LineInfo().RowOffset > 0 {
		return false
	}
	text, ok := b.past.older(b.text())
	if ok {
		b.recall(text)
	}
	return ok
}

// newer goes forward in the history if the cursor is on the last line.
func (b *inputBox) newer() bool {
	info := b.area.LineInfo()
	if b.area.Line() < b.area.LineCount()-1 || info.RowOffset < info.Height-1 {
		return false
	}
	text, ok := b.past.newer()
	if ok {
		b.recall(text)
	}
	return ok
}

// recall shows a text from the history. A command opens no menu, so that the arrow keys still work.
func (b *inputBox) recall(text string) {
	b.set(text)
	b.closed = true
}

// A past holds the typed messages, and the place of the user among them.
type past struct {
	entries []string // oldest first
	at      int      // len(entries): the current input
	draft   string   // the input before the user went back
}

// load adds the entries of earlier runs before those of this one.
func (p *past) load(entries []string) {
	p.entries = append(entries[:len(entries):len(entries)], p.entries...)
	p.leave()
}

func (p *past) add(text string) {
	p.entries = remember(p.entries, text)
	p.leave()
}

func (p *past) leave() { p.at, p.draft = len(p.entries), "" }

func (p *past) older(present string) (string, bool) {
	if p.at == 0 {
		return "", false
	}
	if p.at == len(p.entries) {
		p.draft = present
	}
	p.at--
	return p.entries[p.at], true
}

func (p *past) newer() (string, bool) {
	if p.at >= len(p.entries) {
		return "", false
	}
	p.at++
	if p.at == len(p.entries) {
		return p.draft, true
	}
	return p.entries[p.at], true
}
