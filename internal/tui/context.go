package tui

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// A contextSize is the number of tokens in the conversation, at the last model call.
type contextSize struct {
	tokens int
	about  bool // our estimate, not the model's count
}

// counted sets the size after a reply: the tokens that the model read, and those of the reply.
func (c *contextSize) counted(u model.Usage) {
	if n := u.Input + u.Output; n > 0 {
		*c = contextSize{tokens: n}
	}
}

// estimateContext estimates a conversation that the model has not counted yet.
func (s *screen) estimateContext(messages []model.Message) {
	s.context = contextSize{tokens: s.talk.Estimate(messages), about: true}
}

// status returns the text for the status line.
func (c *contextSize) status(window int) string {
	text := c.text(window)
	if text == "" || window <= 0 {
		return text
	}
	return "context " + text
}

// text returns the size, and its share of the model's window if that is known.
func (c *contextSize) text(window int) string {
	if c.tokens == 0 {
		return ""
	}
	size := thousands(c.tokens)
	if c.about {
		size = "~" + size
	}
	if window <= 0 {
		return size + " tokens in context"
	}
	return fmt.Sprintf("%s, %s of %s", size, share(c.tokens, window), thousands(window))
}

// share returns a part in percent. A part above 0 is never 0%.
func share(part, whole int) string {
	percent := 100 * part / whole
	if percent == 0 && part > 0 {
		return "<1%"
	}
	return fmt.Sprintf("%d%%", percent)
}
