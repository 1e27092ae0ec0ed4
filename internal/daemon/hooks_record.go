package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	mostHostRecords = 4096             // records that wait to be written; an agent makes a few each second
	hostRecordTime  = 10 * time.Second // for one record; longer than the engine takes to move to another process
)

// hostRecords writes the records of other agents' events, one after the other, after the events
// were answered.
type hostRecords struct {
	mu      sync.Mutex // protects the fields below
	waiting chan func(context.Context)
	closed  bool
	done    chan struct{} // closed when all records are written
}

var errHostRecords = errors.New("too many records of other agents' events wait to be written, or the daemon is stopping")

// add queues a record to be written. It never waits.
func (r *hostRecords) add(c *Core, write func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil && !r.closed {
		r.waiting, r.done = make(chan func(context.Context), mostHostRecords), make(chan struct{})
		go r.run(r.waiting)
	}
	if !r.closed {
		select {
		case r.waiting <- write:
			return
		default:
		}
	}
	c.Journal.Drop(string(chat.Point), errHostRecords)
}

func (r *hostRecords) run(waiting <-chan func(context.Context)) {
	defer close(r.done)
	for write := range waiting {
		ctx, cancel := context.WithTimeout(context.Background(), hostRecordTime)
		write(ctx)
		cancel()
	}
}

// close waits until all records are written.
func (r *hostRecords) close() {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	if r.waiting != nil && !closed {
		close(r.waiting)
	}
	done := r.done
	r.mu.Unlock()
	if done != nil {
		<-done
	}
}

// record stores the event's traces, and its session if that is new. The session of a probe is not a
// conversation, and is not stored.
func (e *hostEvent) record(ctx context.Context, r *codehook.Result) {
	if e.session != "" && e.Moment.Session != codehook.ProbeSession {
		err := e.storeSession(ctx, r)
		if err == nil && e.Moment.Begins {
			err = e.Sessions.NoteTurn(ctx, e.session, e.turn)
		}
		if err != nil {
			e.log.Warn("cannot store the session of another agent", "session", e.session, "err", err)
		}
	}
	asked := slices.DeleteFunc(slices.Clone(r.Outcomes), func(out *hook.Outcome) bool { return len(out.Steps) == 0 }) // an event without a step is not recorded, as in a turn of our own agent
	for i, out := range asked {
		if i == len(asked)-1 { // the notes say what the agent cannot do
			last := &out.Steps[len(out.Steps)-1]
			last.Notes = append(last.Notes[:len(last.Notes):len(last.Notes)], r.Notes...)
		}
		trace := out.Trace()
		e.observer(nil)(chat.Event{Type: chat.Point, Session: e.session, Turn: e.turn, Time: time.Now().UTC(), Outcome: &trace})
	}
}

// storeSession stores the agent's session once, and sets its title when the first message of the
// user is known.
func (e *hostEvent) storeSession(ctx context.Context, r *codehook.Result) error {
	title := titleOf(r)
	if !e.Moment.Begins && e.hosts.isStored(e.session, title != "") { // a session may have been deleted between two turns
		return nil
	}
	s, err := e.Sessions.CreateHost(ctx, session.Session{WorkingDir: e.Moment.Dir, Title: title, Host: string(e.Agent), HostSession: e.Moment.Session})
	if err != nil {
		return err
	}
	if s.Title == "" && title != "" {
		s, err = e.Sessions.Update(ctx, e.session, func(s *session.Session) error {
			if s.Title == "" {
				s.Title = title
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if e.hosts.markStored(e.session, s.Title != "") {
		e.post("session.created", s.ID, s)
	}
	return nil
}

// titleOf returns a title made of the user's message, as plugins changed it. It returns "" if the
// event has no message, or the message was refused.
func titleOf(r *codehook.Result) string {
	for _, out := range r.Outcomes {
		if out.Point != hook.TurnInput || out.Verdict == hook.Deny || out.Verdict == hook.Skip {
			continue
		}
		if payload, err := rawjson.Parse(out.Payload); err == nil {
			text, _ := payload.String("message")
			return sessionstore.TitleOf(text)
		}
	}
	return ""
}
