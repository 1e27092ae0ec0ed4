package tui

import (
	"errors"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func (l look) replyMark() string { return l.paint(render.StyleGreen, markReply) }

// printUser prints a message of the user.
func (s *screen) printUser(text string) { s.printer.add(blockUser, s.look.userLines(text)) }

// userLines draws a message of the user. Of a long one, such as a pasted file, it draws the
// beginning and the end.
func (l look) userLines(text string) []string {
	lines := wrap(render.Block(fewerLines(text)), l.cols()-len(gap))
	for i := range lines {
		lines[i] = l.bold(lines[i])
	}
	return hang(l.paint(render.StyleCyan, markUser), lines)
}

// printReply prints the held reply, which can no longer change.
func (s *screen) printReply() {
	if t := s.turn; t != nil && t.reply != nil {
		text := *t.reply
		t.reply = nil
		s.printRest(text)
		t.stream.reset() // it showed the reply
		t.printed = text
	}
}

// printRest prints the part of a whole reply that is not in the scrollback yet.
func (s *screen) printRest(text string) {
	t := &s.turn.stream
	rest, same := t.rest(text)
	switch {
	case t.scrolled == "":
		s.printText(text)
	case same:
		s.printer.add(blockMore, t.piece(s.look, rest))
	case text == "":
		s.printWarning("the reply was taken back after this was shown")
	default:
		s.printWarning("the reply was changed after this was shown; it now reads:")
		s.printText(text)
	}
}

// scrollReply moves finished parts of a long reply into the scrollback while the rest arrives.
func (s *screen) scrollReply() {
	t := s.turn
	if t == nil || t.reply != nil {
		return // a whole reply is printed soon
	}
	kind := blockMore
	if t.stream.scrolled == "" {
		kind = blockReply
	}
	s.printer.add(kind, t.stream.scroll(s.look, min(s.look.liveRoom()/2, liveReply)))
}

// liveReply is how many lines of a reply are live before its finished lines are printed. Printed
// lines look the same. The number is small, so that the live part fits into a small terminal.
const liveReply = 4

// printText prints a whole reply.
func (s *screen) printText(text string) { s.printer.add(blockReply, s.look.replyLines(text)) }

func (l look) replyLines(text string) []string {
	return hang(l.replyMark(), l.markdown(text, l.cols()-len(gap)))
}

// printNote prints a remark of the program.
func (s *screen) printNote(text string) { s.printMarked(markNote, render.StyleDim, text) }

func (s *screen) printWarning(text string) { s.printMarked("! ", render.StyleYellow, text) }

func (s *screen) printError(text string) { s.printMarked(markBad, render.StyleRed, text) }

func (s *screen) printMarked(mark string, style render.Style, text string) {
	lines := s.look.paintLines(style, text, s.look.cols()-len(gap))
	s.printer.add(blockNote, hang(s.look.paint(style, mark), lines))
}

// printLines prints a block that is already drawn.
func (s *screen) printLines(text string) {
	s.printer.apart()
	s.printer.add(blockNote, strings.Split(strings.TrimRight(text, "\n"), "\n"))
}

// printResult prints how a turn ended. The text of the result is final: it replaces the streamed
// text and the model's last reply.
func (s *screen) printResult(end *turnEnd) {
	t, r := s.turn, end.result
	if r == nil {
		r = &chat.Result{Status: session.Failed}
	}
	switch {
	case r.Text != "" && r.Text != t.printed:
		t.reply = &r.Text
	case t.reply == nil && len(t.stream.text) > 0:
		text := t.stream.scrolled + string(t.stream.text) // cut off; the part that arrived is shown
		t.reply = &text
	}
	s.printReply()
	for _, tool := range t.tools { // cut off with the turn
		s.printer.add(blockTool, s.toolLines(&tool.use))
	}
	t.stream.reset()
	t.tools = nil
	s.printEnding(end, r)
}

// printEnding prints what the text does not show: why there is none, the duration, the plugins that
// changed it.
func (s *screen) printEnding(end *turnEnd, r *chat.Result) {
	took := clock(s.turn.clock.elapsed())
	switch {
	case r.Status == session.Interrupted || s.turn.interrupted && r.Status != session.Done: // the turn may have been done before the interruption
		s.printWarning("interrupted after " + took)
	case r.Skipped || r.Status == session.Skipped:
		s.printWarning(skippedText(r))
	case end.err != nil:
		s.printError(errorText(end.err))
	case r.Error != nil:
		s.printError(*r.Error)
	default:
		s.printNote(strings.Join(append([]string{took}, s.turn.summary(r.Usage)...), " · "))
	}
}

// skippedText says why a message was not sent to the model.
func skippedText(r *chat.Result) string {
	text := "not sent to the model: a plugin dropped the message"
	if r.Reason != "" {
		text = "not sent to the model: " + r.Reason
	}
	if r.Suggest != "" {
		text += "\n" + r.Suggest
	}
	return text + "\n/trace shows which plugin decided"
}

// errorText returns the text of an error, one line for each joined error.
func errorText(err error) string {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		return busy.Error()
	}
	return err.Error()
}

// summary returns the tokens of a turn and the plugins that changed it.
func (t *turn) summary(u model.Usage) []string {
	var out []string
	if u.Input+u.Output > 0 {
		out = append(out, fmt.Sprintf("%s tokens in, %s out", thousands(u.Input), thousands(u.Output)))
	}
	if who := t.changers(); len(who) > 0 {
		const named = 3
		text := "changed by " + strings.Join(who[:min(named, len(who))], ", ")
		if rest := len(who) - named; rest > 0 {
			text += fmt.Sprintf(" and %d more", rest)
		}
		out = append(out, text+" · /trace")
	}
	return out
}

// changers lists the plugins that changed something in a turn, each with the point.
func (t *turn) changers() []string {
	var out []string
	seen := map[string]bool{}
	for _, o := range t.points {
		for i := range o.Steps {
			step := &o.Steps[i]
			what := fmt.Sprintf("%s (%s)", step.Plugin, o.Point)
			if step.Changed && !seen[what] {
				seen[what] = true
				out = append(out, what)
			}
		}
	}
	return out
}

// stepFailure returns a plugin's failure as one line.
func stepFailure(point hook.Point, step *hook.Step) string {
	bare := *step.Err
	bare.Plugin, bare.Hook, bare.Point = "", "", ""
	return fmt.Sprintf("plugin %s failed at %s: %v", step.Plugin, point, bare.Error())
}

func compactionText(c *session.Compaction) string {
	text := fmt.Sprintf("compacted (%s): %s became %d", c.Strategy, render.Count(c.Before, "message"), len(c.Messages))
	if c.By != "" {
		text += ", by " + c.By
	}
	return text
}
