package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/attach"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A composition holds the parts of one message: the text, the files it mentions, and the output of
// commands that the user ran before.
type composition struct {
	text     string
	mentions []string
	ran      []string // the output of commands, framed
}

// compose collects the parts of a message. The files are read later, in the background.
func (s *screen) compose(text string) composition {
	mentions, known := s.mentions[text]
	if !known {
		mentions = attach.Mentions(text)
	}
	delete(s.mentions, text)
	c := composition{text: text, mentions: mentions, ran: s.ran}
	s.ran = nil
	return c
}

// message returns the whole message, and the notes for the user.
func (c composition) message(dir string) (text string, told notes) {
	m := attach.Compose(dir, c.text, c.mentions)
	for _, frame := range c.ran {
		m.Text += "\n\n" + frame
	}
	if len(m.Attached) > 0 {
		told.note = "attached: " + strings.Join(m.Attached, ", ")
	}
	told.warnings = m.Left
	return m.Text, told
}

// notes are the remarks about a composed message.
type notes struct {
	note     string
	warnings []string
}

func (s *screen) printNotes(n *notes) {
	if n.note != "" {
		s.printNote(render.Line(n.note))
	}
	const most = 5
	for i, w := range n.warnings {
		if i == most {
			s.printWarning(render.Count(len(n.warnings)-most, "more mention") + " not attached")
			break
		}
		s.printWarning(w)
	}
}

// mentioned records the files that a message mentions, if the text has pastes: an @ inside a paste
// mentions nothing.
func (s *screen) mentioned(text, typed string) {
	if len(s.input.pastes) == 0 {
		return
	}
	if s.mentions == nil {
		s.mentions = map[string][]string{}
	}
	s.mentions[text] = attach.Mentions(typed)
}

const (
	// pathsFor is how long a list of files is used before the files are listed again. It also
	// limits how long the listing may take.
	pathsFor = 10 * time.Second
	maxPaths = 50 // in the menu
)

// A pathList holds the files that can be mentioned.
type pathList struct {
	paths   []string
	at      time.Time
	loading bool
}

// pathsMsg is a list of files.
type pathsMsg []string

// wantPaths lists the files if the user is typing a mention, unless the list is recent.
func (s *screen) wantPaths() tea.Cmd {
	if _, _, ok := s.input.typingMention(); !ok || s.input.files.loading || time.Since(s.input.files.at) < pathsFor {
		return nil
	}
	s.input.files.loading = true
	dir, ctx := s.talk.Session().WorkingDir, s.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, pathsFor)
		defer cancel()
		return pathsMsg(attach.List(ctx, dir))
	}
}

func (s *screen) gotPaths(paths []string) {
	s.input.files = pathList{paths: paths, at: time.Now()}
}

// typingMention returns the mention before the cursor, at the end of the input.
func (b *inputBox) typingMention() (word string, start int, ok bool) {
	text := b.value()
	if b.area.Line() < b.area.LineCount()-1 || b.area.Column() < len([]rune(text[strings.LastIndexByte(text, '\n')+1:])) {
		return "", 0, false
	}
	return attach.Typing(text)
}

// pathChoices lists the files that the typed mention could mean.
func (b *inputBox) pathChoices() []choice {
	word, start, ok := b.typingMention()
	if !ok {
		return nil
	}
	var out []choice
	for _, path := range attach.Matches(b.files.paths, word, maxPaths) {
		mention := attach.Mention(path)
		if mention == b.value()[start:] {
			return nil // it is complete: Enter sends
		}
		out = append(out, choice{text: render.Line(mention), put: b.value()[:start] + mention + " "})
	}
	return out
}
