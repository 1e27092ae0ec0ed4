package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A SessionRow is a session that can be resumed.
type SessionRow struct {
	ID    string
	Title string
	Dir   string // as it is shown
	Here  bool   // it belongs to the program's working directory
	Turns int
	Used  time.Time // when it was last used
}

// A picker chooses a session: those of this directory come first, sorted by last use. Typed text
// filters them.
type picker struct {
	rows   []SessionRow
	more   bool // there are older ones, which are not in rows
	filter string
	chosen int // among the shown ones
	now    time.Time
}

func newPicker(rows []SessionRow, more bool) *picker {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b SessionRow) int {
		if a.Here != b.Here {
			if a.Here {
				return -1
			}
			return 1
		}
		return b.Used.Compare(a.Used)
	})
	return &picker{rows: rows, more: more, now: time.Now()}
}

// found returns the sessions that have every word of the filter in their title or directory, or at
// the beginning of their id. Within an id, a short word would match by chance.
func (p *picker) found() []SessionRow {
	words := strings.Fields(strings.ToLower(p.filter))
	if len(words) == 0 {
		return p.rows
	}
	var out []SessionRow
	for _, r := range p.rows {
		text := strings.ToLower(r.Title + "\n" + r.Dir)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) && !r.begins(w) }) {
			out = append(out, r)
		}
	}
	return out
}

// begins reports whether the id begins with a word, with or without ses_.
func (r *SessionRow) begins(word string) bool {
	return strings.HasPrefix(r.ID, word) || strings.HasPrefix(strings.TrimPrefix(r.ID, session.Prefix), word)
}

// pickerPage is how many rows a page key moves.
const pickerPage = 10

// key handles a key. chosen is the chosen session; over reports that the picker closes.
func (p *picker) key(msg tea.KeyPressMsg) (chosen *SessionRow, over bool) {
	found := p.found()
	switch key := msg.String(); key {
	case "esc", "ctrl+c", "ctrl+d":
		return nil, true
	case "enter":
		if p.chosen >= len(found) {
			return nil, false
		}
		return &found[p.chosen], true
	case "up", "ctrl+p":
		p.chosen--
	case "down", "ctrl+n", "tab":
		p.chosen++
	case "pgup":
		p.chosen -= pickerPage
	case "pgdown":
		p.chosen += pickerPage
	case "home":
		p.chosen = 0
	case "end":
		p.chosen = len(found) - 1
	case "backspace", "ctrl+h":
		runes := []rune(p.filter)
		p.narrow(string(runes[:max(len(runes)-1, 0)]))
		return nil, false
	case "ctrl+u", "ctrl+w":
		p.narrow("")
		return nil, false
	default:
		p.narrow(p.filter + msg.Text)
		return nil, false
	}
	p.chosen = min(max(p.chosen, 0), max(len(found)-1, 0))
	return nil, false
}

// maxFilter limits the typed or pasted filter.
const maxFilter = 200

// narrow sets the filter and chooses the first match.
func (p *picker) narrow(filter string) {
	filter = strings.ReplaceAll(cleanPaste(filter), "\n", " ")
	if filter == p.filter || len(filter) > maxFilter {
		return
	}
	p.filter, p.chosen = filter, 0
}

// lines draws as much of the picker as there is room for.
func (p *picker) lines(l look, room space) []string {
	found := p.found()
	count := p.count(len(found))
	typed := l.dim("type to filter")
	if p.filter != "" {
		typed = render.Line(p.filter)
	}
	out := []string{l.bold("Go on with which session?") + gap + l.dim(count), l.paint(render.StyleCyan, markUser) + typed, ""}
	keys := l.dim(render.Cut("↑↓ choose · enter goes on with it · esc leaves the list", l.cols()))
	out = append(out, p.list(l, found, room.without(append(out, "", keys)...))...)
	return clip(append(out, "", keys), max(room.lines, 1))
}

// count says how many sessions are shown, and whether they are all.
func (p *picker) count(found int) string {
	all := fmt.Sprint(len(p.rows))
	if p.more {
		all = "the newest " + all
	}
	if found < len(p.rows) {
		return fmt.Sprintf("%d of %s", found, all)
	}
	return strings.Replace(render.Count(len(p.rows), "session"), fmt.Sprint(len(p.rows)), all, 1)
}

// list draws the sessions around the chosen one, with a line before those of other directories.
func (p *picker) list(l look, found []SessionRow, room space) []string {
	if len(found) == 0 {
		return []string{l.dim(gap + "no session has that in its title, directory or id")}
	}
	var lines []string
	c := p.columns(l)
	at := 0 // where the chosen one is
	for i := range found {
		if !found[i].Here && (i == 0 || found[i-1].Here) {
			lines = append(lines, l.dim(gap+"in other directories"))
		}
		if i == p.chosen {
			at = len(lines)
		}
		lines = append(lines, p.row(l, c, &found[i], i == p.chosen))
	}
	rows := room.count(lines)
	first := min(max(at-rows/2, 0), max(len(lines)-rows, 0))
	return lines[first:min(first+rows, len(lines))]
}

func (p *picker) row(l look, c columns, r *SessionRow, chosen bool) string {
	mark, style := gap, render.StylePlain
	if chosen {
		mark, style = markUser, render.StyleCyan
	}
	rest := gap + fmt.Sprintf("%-*s", c.when, p.when(r)) + gap + fmt.Sprintf("%*s", c.turns, render.Count(r.Turns, "turn"))
	if !r.Here {
		rest += gap + padded(cutLeft(render.Line(r.Dir), c.dir), c.dir)
	}
	title := max(min(c.title, l.cols()-ansi.StringWidth(mark+rest)), 1)
	return l.paint(style, mark+padded(render.Cut(r.title(), title), title)) + l.dim(rest)
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

func (p *picker) when(r *SessionRow) string { return ago(p.now.Sub(r.Used)) }

func (r *SessionRow) title() string {
	if r.Title == "" {
		return "(no messages)"
	}
	return render.Line(r.Title)
}

// columns holds the widths of the columns. They are those of all sessions, so that nothing moves
// sideways when a filter is typed.
type columns struct{ title, when, turns, dir int }

func (p *picker) columns(l look) (c columns) {
	for i := range p.rows {
		r := &p.rows[i]
		c.title = max(c.title, ansi.StringWidth(r.title()))
		c.when, c.turns = max(c.when, len(p.when(r))), max(c.turns, len(render.Count(r.Turns, "turn")))
		if !r.Here {
			c.dir = min(max(c.dir, ansi.StringWidth(render.Line(r.Dir))), l.cols()/4)
		}
	}
	return c
}

// cutLeft cuts a path at its beginning: the end distinguishes it.
func cutLeft(path string, width int) string {
	if over := ansi.StringWidth(path) - width; over > 0 {
		return ansi.TruncateLeft(path, over+1, "…")
	}
	return path
}

// ago returns how long ago something was, in a fitting unit.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 2*day:
		return "yesterday"
	}
	return fmt.Sprintf("%d days ago", d/day)
}

// PickSession lets the user choose a session, and returns its id, or [ErrGivenUp] if none was
// chosen. more reports that there are older sessions. The list does not stay on the screen.
func PickSession(ctx context.Context, o Options, rows []SessionRow, more bool) (string, error) {
	m := &pickerProgram{picker: newPicker(rows, more), look: look{color: !o.NoColor, width: assumedWidth, height: assumedHeight}}
	options := []tea.ProgramOption{tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithContext(ctx), tea.WithoutSignalHandler()}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.Ascii))
	}
	_, err := tea.NewProgram(m, options...).Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && !errors.Is(err, tea.ErrProgramKilled):
		return "", programError(err)
	case m.chosen == nil:
		return "", ErrGivenUp
	}
	return m.chosen.ID, nil
}

// A pickerProgram is a picker that has the screen to itself.
type pickerProgram struct {
	picker *picker
	look   look
	chosen *SessionRow
}

// Init implements [tea.Model].
func (m *pickerProgram) Init() tea.Cmd { return nil }

// Update implements [tea.Model].
func (m *pickerProgram) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 {
			m.look.width, m.look.height = msg.Width, msg.Height
		}
	case tea.PasteMsg:
		m.picker.narrow(m.picker.filter + msg.Content)
	case tea.KeyPressMsg:
		chosen, over := m.picker.key(msg)
		if over {
			m.chosen = chosen
			return m, tea.Quit
		}
	}
	return m, nil
}

// View implements [tea.Model].
func (m *pickerProgram) View() tea.View {
	var v tea.View
	v.SetContent(strings.Join(m.picker.lines(m.look, m.look.wholeScreen()), "\n"))
	v.AltScreen = true
	return v
}
