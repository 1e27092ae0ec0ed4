package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
)

// A turn is the current turn. It belongs to the screen; only items and calls are shared with the
// goroutine that runs it.
type turn struct {
	clock       stopwatch
	cancel      context.CancelFunc
	interrupted bool // by the user; it has not ended yet
	items       chan turnItem
	calls       hook.Calls // to plugins, in progress

	stream  stream  // the current reply
	reply   *string // the last whole reply: live until plugins can no longer change it
	printed string  // the reply that was last printed
	retry   string  // why the model is called again
	held    int     // characters of the current reply that plugins see first
	tools   []*runningTool
	points  []*hook.Outcome
	dropped int // outcomes past maxOutcomes
}

// A turnItem is an event of the turn, or its end.
type turnItem struct {
	event *chat.Event
	end   *turnEnd
	notes *notes
}

type turnEnd struct {
	result *chat.Result
	err    error
}

// A turnMsg holds the new events of a turn.
type turnMsg struct {
	turn  *turn
	items []turnItem
}

const (
	// itemsAhead is how many events may wait for the screen. Beyond that the turn waits: a tool
	// with endless output must not fill the memory.
	itemsAhead = 256
	// maxOutcomes is how many outcomes of one turn /trace keeps: more than people read, and each
	// has whole payloads.
	maxOutcomes = 500
)

// startTurn sends a message.
func (s *screen) startTurn(text string) tea.Cmd {
	ctx, cancel := context.WithCancel(s.ctx)
	t := &turn{clock: startStopwatch(), cancel: cancel, items: make(chan turnItem, itemsAhead)}
	s.turn = t
	s.printUser(text)
	return tea.Batch(s.runTurn(ctx, t, s.compose(text)), s.nextItems(t), s.startTicking())
}

// runTurn is the goroutine of a turn. It passes on events until the program ends, even after the
// turn was interrupted: the end of the turn is shown too.
func (s *screen) runTurn(ctx context.Context, t *turn, c composition) tea.Cmd {
	return func() tea.Msg {
		defer t.cancel()
		if !s.calls.begin() {
			return nil
		}
		defer s.calls.end()
		text, told := c.message(s.talk.Session().WorkingDir)
		t.put(s.ctx, turnItem{notes: &told})
		result, err := s.talk.Send(hook.WithCalls(ctx, &t.calls), text, func(e chat.Event) { t.put(s.ctx, turnItem{event: &e}) })
		t.put(s.ctx, turnItem{end: &turnEnd{result, err}})
		return nil
	}
}

func (t *turn) put(program context.Context, item turnItem) {
	select {
	case t.items <- item:
	case <-program.Done():
	}
}

// nextItems waits for an event, and returns it with all that have come since. If a model streams
// faster than a terminal draws, several pieces are drawn together.
func (s *screen) nextItems(t *turn) tea.Cmd {
	return func() tea.Msg {
		msg := turnMsg{turn: t}
		select {
		case item := <-t.items:
			msg.items = append(msg.items, item)
		case <-s.ctx.Done():
			return nil
		}
		for len(msg.items) < itemsAhead {
			select {
			case item := <-t.items:
				msg.items = append(msg.items, item)
			default:
				return msg
			}
		}
		return msg
	}
}

// turnItems shows new events of the turn.
func (s *screen) turnItems(msg turnMsg) tea.Cmd {
	for _, item := range msg.items {
		if item.end != nil {
			return s.endTurn(item.end)
		}
		if item.notes != nil {
			s.printNotes(item.notes)
			continue
		}
		s.turnEvent(item.event)
	}
	return s.nextItems(msg.turn)
}

// interrupt ends the running turn, or else what screen.busy names, such as a compaction or a
// command of the user. It returns false if there is nothing to end, or if it is ending already.
func (s *screen) interrupt() bool {
	switch {
	case s.turn != nil && !s.turn.interrupted:
		s.turn.interrupted = true
		s.turn.cancel()
	case s.stopBusy != nil:
		s.stopBusy()
		s.stopBusy = nil
	default:
		return false
	}
	s.ended = time.Now()
	return true
}

// turnEvent shows one event.
func (s *screen) turnEvent(e *chat.Event) {
	t := s.turn
	switch e.Type {
	case chat.Point:
		s.pointEvent(e)
	case chat.TextDelta:
		s.printReply()
		t.retry = ""
		t.stream.add(e.Text)
	case chat.TextHeld:
		s.printReply()
		t.held, t.retry = e.Held, ""
	case chat.Retrying:
		if t.stream.scrolled != "" {
			s.printWarning("the reply broke off here; the model is asked for all of it again")
		}
		t.stream.reset()
		t.held, t.retry = 0, e.Text
	case chat.ModelReplied:
		s.printReply()           // the one before, if it is not printed yet
		t.stream.replace(e.Text) // it stays visible
		t.reply, t.retry, t.held = &e.Text, "", 0
		s.context.counted(e.Usage)
	case chat.ToolStarted, chat.ToolOutput, chat.ToolFinished:
		if e.Tool != nil {
			s.toolEvent(e)
		}
	case chat.Compacted:
		if e.Compaction != nil {
			s.estimateContext(e.Compaction.Messages)
			s.printNote(compactionText(e.Compaction))
		}
	}
}

// pointEvent keeps the outcome for /trace, and reports a failing plugin at once.
func (s *screen) pointEvent(e *chat.Event) {
	if e.Outcome == nil || e.Outcome.Outcome == nil || len(e.Outcome.Steps) == 0 {
		return
	}
	t, out := s.turn, e.Outcome.Outcome
	if len(t.points) < maxOutcomes {
		t.points = append(t.points, out)
	} else {
		t.dropped++
	}
	for i := range out.Steps {
		step := &out.Steps[i]
		if step.Err == nil || t.interrupted && errors.Is(step.Err, context.Canceled) { // the user ended the call: the plugin is not to blame
			continue
		}
		s.printWarning(stepFailure(out.Point, step))
	}
}

// toolEvent shows a tool from its start to its end.
func (s *screen) toolEvent(e *chat.Event) {
	t := s.turn
	s.printReply() // the text before the call
	i := t.tool(e.Tool.CallID)
	switch {
	case e.Type == chat.ToolFinished:
		if i >= 0 {
			t.tools = append(t.tools[:i], t.tools[i+1:]...)
		}
		s.printer.add(blockTool, s.toolLines(e.Tool))
	case i < 0:
		t.tools = append(t.tools, newRunningTool(e))
	case e.Type == chat.ToolOutput:
		t.tools[i].output(e.Text)
	}
}

func (t *turn) tool(callID string) int {
	for i, r := range t.tools {
		if r.use.CallID == callID {
			return i
		}
	}
	return -1
}

// endTurn shows how a turn ended, and starts the next one if a message waits.
func (s *screen) endTurn(end *turnEnd) tea.Cmd {
	t := s.turn
	s.printResult(end)
	s.last, s.turn, s.ended = t, nil, time.Now()
	s.pruneQuestions()
	if end.result != nil {
		s.usage.Input += end.result.Usage.Input
		s.usage.Output += end.result.Usage.Output
	}
	if t.interrupted {
		s.unqueue()
	}
	return tea.Batch(s.refreshPlugins, s.sendQueued())
}

// sendQueued sends the first message that was typed during a turn.
func (s *screen) sendQueued() tea.Cmd {
	if len(s.queued) == 0 || s.leaving || s.turn != nil || s.busy != "" {
		return nil
	}
	text := s.queued[0]
	s.queued = s.queued[1:]
	return s.startTurn(text)
}

// unqueue puts the waiting messages back into the input: after an interruption they may not be
// wanted any more.
func (s *screen) unqueue() {
	for _, text := range s.queued {
		s.input.appendText(text)
	}
	s.queued = nil
}
