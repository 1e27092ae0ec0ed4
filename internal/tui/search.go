package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A finder searches the history, as Ctrl+R does in a shell. The input shows the match.
type finder struct {
	query  string
	at     int  // the shown entry; len(entries): none
	failed bool // no other entry matches
	value  string
	pastes []string // with value: the input before the search
}

// openSearch starts a search at the newest entry.
func (b *inputBox) openSearch() {
	b.find = &finder{at: len(b.past.entries), value: b.value(), pastes: b.pastes}
}

// leaveSearch restores the input.
func (b *inputBox) leaveSearch() {
	f := b.find
	b.find = nil
	b.area.Reset()
	b.area.InsertString(f.value)
	b.pastes = f.pastes
}

// takeFound ends the search and keeps the match in the input.
func (b *inputBox) takeFound() {
	b.find = nil
	b.closed = true
}

// seek shows the next match, from an index on, in the given direction.
func (b *inputBox) seek(from, step int) {
	f, entries := b.find, b.past.entries
	shown := ""
	if f.at < len(entries) {
		shown = entries[f.at]
	}
	for i := from; i >= 0 && i < len(entries); i += step {
		if matches(entries[i], f.query) && (i == f.at || entries[i] != shown) {
			f.at, f.failed = i, false
			b.recall(entries[i])
			return
		}
	}
	f.failed = true
}

// matches reports whether an entry contains the query. A query without capitals ignores case.
func matches(entry, query string) bool {
	if strings.IndexFunc(query, unicode.IsUpper) < 0 {
		entry = strings.ToLower(entry)
	}
	return strings.Contains(entry, query)
}

// narrow searches for another query: a longer one from the shown entry on, a shorter one from the
// newest.
func (b *inputBox) narrow(query string) {
	f := b.find
	longer := strings.HasPrefix(query, f.query)
	f.query = query
	switch {
	case query == "":
		f.at, f.failed = len(b.past.entries), false
		b.area.Reset()
	case longer:
		b.seek(min(f.at, len(b.past.entries)-1), -1)
	default:
		f.at = len(b.past.entries)
		b.seek(f.at-1, -1)
	}
}

// searchKey handles a key during a search. Other keys than those of the search end it and go to the
// input.
func (s *screen) searchKey(msg tea.KeyPressMsg) tea.Cmd {
	b := s.input
	switch key := msg.String(); {
	case key == "ctrl+r", key == "up":
		b.seek(b.find.at-1, -1)
	case key == "ctrl+s", key == "down":
		b.seek(b.find.at+1, 1)
	case key == "esc", key == "ctrl+g":
		b.leaveSearch()
	case key == "enter", key == "tab":
		b.takeFound()
	case key == "backspace":
		if runes := []rune(b.find.query); len(runes) > 0 {
			b.narrow(string(runes[:len(runes)-1]))
		}
	case msg.Text != "" && !strings.ContainsFunc(msg.Text, unicode.IsControl):
		b.narrow(b.find.query + msg.Text)
	default:
		b.takeFound()
		return s.inputKey(msg)
	}
	return nil
}

// searchLine returns the status line during a search.
func (s *screen) searchLine() string {
	f, l := s.input.find, s.look
	if f.failed {
		none := "no other match"
		if f.at == len(s.input.past.entries) {
			none = "no match"
		}
		return l.paint(render.StyleYellow, render.Cut("  history search: "+f.query+"▏ "+none+" · esc leaves", l.cols()))
	}
	head := render.Cut("  history search: "+f.query+"▏", l.cols())
	return render.Cut(l.paint(render.StyleCyan, head)+l.dim(" ctrl+r older · enter takes · esc leaves"), l.cols())
}
