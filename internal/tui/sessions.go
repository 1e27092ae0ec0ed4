package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A SessionChanger changes to another session.
type SessionChanger interface {
	// Sessions returns the sessions that can be resumed, in any order. more reports that there are
	// older ones.
	Sessions(ctx context.Context) (rows []SessionRow, more bool, err error)
	// Switch ends this session and resumes the one with this id; "" begins a new one. Then Session
	// and History are those of the other session. After an error nothing has changed.
	Switch(ctx context.Context, id string) error
}

// sessionsMsg is the answer to /sessions.
type sessionsMsg struct {
	rows []SessionRow
	more bool // there are older ones
	err  error
}

// switchedMsg is the end of a switch.
type switchedMsg struct {
	fresh bool // it is a new session
	err   error
}

// work runs a slow function in the background, and returns its message to the screen.
func (s *screen) work(doing string, do func(context.Context) tea.Msg) tea.Cmd {
	ctx, cancel := context.WithCancel(s.ctx)
	s.busy, s.busySince, s.stopBusy = doing, time.Now(), cancel
	return tea.Batch(s.startTicking(), func() tea.Msg {
		defer cancel()
		if !s.calls.begin() {
			return nil
		}
		defer s.calls.end()
		return do(ctx)
	})
}

// listSessions opens the picker.
func (s *screen) listSessions(string) tea.Cmd {
	return s.work("looking for sessions", func(ctx context.Context) tea.Msg {
		rows, more, err := s.talk.Sessions(ctx)
		return sessionsMsg{rows, more, err}
	})
}

func (s *screen) sessionsFound(msg sessionsMsg) tea.Cmd {
	s.busy, s.stopBusy, s.ended = "", nil, time.Now()
	this := s.talk.Session().ID
	msg.rows = slices.DeleteFunc(msg.rows, func(r SessionRow) bool { return r.ID == this })
	switch {
	case s.leaving:
	case msg.err != nil:
		s.printError("sessions are not listed: " + errorText(msg.err))
	case len(msg.rows) == 0:
		s.printNote("there is no other session yet")
	default:
		s.picker = newPicker(msg.rows, msg.more)
		return nil
	}
	return s.sendQueued()
}

// pickerKey handles a key for the picker.
func (s *screen) pickerKey(msg tea.KeyPressMsg) tea.Cmd {
	chosen, over := s.picker.key(msg)
	if !over {
		return nil
	}
	s.picker = nil
	if chosen == nil {
		return s.sendQueued()
	}
	return s.switchTo(chosen.ID)
}

// hasMessages reports whether something was said in this session. An empty session is not stored.
func (s *screen) hasMessages() bool {
	return s.last != nil || s.turn != nil || len(s.talk.History()) > 0
}

// newSession begins a new session.
func (s *screen) newSession(string) tea.Cmd { return s.switchTo("") }

func (s *screen) switchTo(id string) tea.Cmd {
	return s.work("opening the session", func(ctx context.Context) tea.Msg {
		return switchedMsg{id == "", s.talk.Switch(ctx, id)}
	})
}

// switched shows the other session.
func (s *screen) switched(msg switchedMsg) tea.Cmd {
	s.busy, s.stopBusy, s.ended = "", nil, time.Now()
	if msg.err != nil {
		s.printError("the session stays as it is: " + errorText(msg.err))
		return s.sendQueued()
	}
	s.last, s.usage = nil, model.Usage{}
	s.approver.forget()
	this := s.talk.Session()
	s.printer.apart()
	if msg.fresh {
		s.printNote("a new session; /sessions has the one before")
	} else {
		s.printNote(render.Line(this.Title))
		s.printNote(render.Line(s.short(this.WorkingDir)))
	}
	s.printPast()
	return tea.Batch(s.refreshPlugins, s.sendQueued())
}
