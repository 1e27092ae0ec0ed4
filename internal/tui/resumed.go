package tui

import (
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/attach"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// The limits for showing a resumed conversation: its end, enough to remember it.
const (
	shownHistory = 20 // messages
	shownScreens = 4  // screens that they may fill
)

// A block is a finished part, drawn.
type block struct {
	kind  blockKind
	lines []string
}

// printHistory prints the end of a resumed conversation, and where the new part begins.
func (s *screen) printHistory(messages []model.Message) {
	if len(messages) == 0 {
		return
	}
	blocks := s.lastBlocks(messages)
	if rest := len(messages) - len(blocks); rest > 0 {
		s.printer.apart()
		s.printNote(fmt.Sprintf("%s before", render.Count(rest, "message")))
	}
	for _, b := range blocks {
		s.printer.add(b.kind, b.lines)
	}
	note := "resumed here, after " + render.Count(len(messages), "message")
	if title := s.talk.Session().Title; title != "" {
		note += ": " + title
	}
	s.printNote(note)
}

// lastBlocks draws the last messages. If they are too long, it leaves out the earlier ones. It
// draws the last one whole, however long that is.
func (s *screen) lastBlocks(messages []model.Message) []block {
	calls := make(map[string]json.RawMessage)
	for i := range messages {
		for _, c := range messages[i].ToolCalls {
			calls[c.ID] = c.Arguments
		}
	}
	first := max(len(messages)-shownHistory, 0)
	blocks, rows := make([]block, len(messages)), 0
	for i := len(messages) - 1; i >= first; i-- {
		blocks[i] = s.messageBlock(&messages[i], calls)
		if rows += len(blocks[i].lines) + 1; rows > shownScreens*s.look.height && i < len(messages)-1 {
			first = i + 1
		}
	}
	return blocks[first:]
}

// messageBlock draws a message of the transcript as it was drawn before. calls holds the arguments
// of tool calls by id.
func (s *screen) messageBlock(m *model.Message, calls map[string]json.RawMessage) block {
	l := s.look
	switch m.Role {
	case model.User:
		return block{blockUser, l.userLines(attach.Fold(m.Content))}
	case model.Assistant:
		return block{blockReply, l.replyLines(m.Content)}
	case model.ToolRole:
		mark, style := markGood, render.StyleGreen
		if m.Failed {
			mark, style = markBad, render.StyleRed
		}
		head := l.paint(style, mark) + l.callLine(m.Name, calls[m.ToolCallID], l.cols()-len(gap))
		return block{blockTool, append([]string{head}, l.excerpt(m.Content, render.StyleDim, finishedLines)...)}
	}
	return block{blockNote, l.excerpt(m.Content, render.StyleDim, 2)}
}
