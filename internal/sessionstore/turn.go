package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// Why a turn can write no more.
var (
	ErrLost  = errors.New("the turn has lost its session")
	ErrEnded = errors.New("the turn has ended")
)

// endTimeout bounds [Turn.End], which the caller's cancelled context must not: long enough for the
// engine to move to another process, shorter than a lease.
const endTimeout = 10 * time.Second

// A Turn is a session's transcript while a turn is running: it holds the session until [Turn.End],
// which must be called. It is safe for concurrent use.
type Turn struct {
	store   *Store
	parts   *parts
	session session.Session // as it was when the turn began
	id      string
	lease   *sessionLease
	ctx     context.Context // what the caller has to heed
	cancel  context.CancelCauseFunc
	open    context.Context // ends when nothing more can be written, and says why; the caller's cancelling does not end it
	shut    context.CancelCauseFunc

	writing chan struct{} // holds one token while an entry is being written, which guards the fields below
	written int           // entries tried, which numbers them
	unsure  [][]byte      // entries that are there or not: nobody answered

	mu    sync.Mutex // protects the fields below
	state *state     // the transcript as we know it: no entry but behind its last one. Who holds the token of writing alone changes it
	title string     // to be set; "": the session has one, or nothing was said

	end   sync.Once
	ended error // what End returned
}

// ID is the turn's.
func (t *Turn) ID() string { return t.id }

// Session is the session as it was when the turn began.
func (t *Turn) Session() session.Session { return t.session }

// Context ends with the context that [Store.Begin] was given, with [Turn.End], or when the lease is
// lost: then its cause is an [ErrLost] that says why.
func (t *Turn) Context() context.Context { return t.ctx }

// Messages returns the conversation as it stands, compactions applied. The messages are not to be
// changed: the list is not copied, however long it is.
func (t *Turn) Messages() []model.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.said()
}

// Earlier is how many of the model's replies compactions took out.
func (t *Turn) Earlier() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.state.replies-t.state.currentReplies, 0)
}

// Append adds messages to the conversation. When it returns nil, they are on disk; after an error,
// those before the one that it is about are. The first message of the user's gives the session its
// title, where it has none.
func (t *Turn) Append(ctx context.Context, messages ...model.Message) error {
	for _, m := range messages {
		if err := t.write(ctx, session.Entry{Message: &m}); err != nil {
			return fmt.Errorf("message of the %s, %d bytes: %w", m.Role, len(m.Content), err)
		}
		if m.Role == model.User {
			t.proposeTitle(ctx, m.Content)
		}
	}
	return nil
}

// Compact replaces the conversation by fewer messages. The transcript keeps what was there before.
func (t *Turn) Compact(ctx context.Context, c session.Compaction) error {
	if c.Before == 0 {
		t.mu.Lock()
		c.Before = len(t.state.messages)
		t.mu.Unlock()
	}
	if err := t.write(ctx, session.Entry{Compaction: &c}); err != nil {
		return fmt.Errorf("compaction to %d messages: %w", len(c.Messages), err)
	}
	return nil
}

// End records how the turn ended, which gives the session back, also when ctx was cancelled long
// ago. The first call counts; later ones return what it did.
func (t *Turn) End(ctx context.Context, status session.Status) error {
	t.end.Do(func() { t.ended = t.finish(ctx, status) })
	return t.ended
}

func (t *Turn) finish(ctx context.Context, status session.Status) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := checkEnd(status)
	if err != nil {
		status = session.Failed // the turn ends all the same
	}
	written := t.write(ctx, session.Entry{Status: status})
	if written == nil {
		written = t.setTitle(ctx)
	}
	t.close(ErrEnded)
	t.handOver()
	if err = errors.Join(err, written); err != nil {
		err = fmt.Errorf("end of turn %s: %w", t.id, err)
	}
	return errors.Join(err, t.lease.release(ctx))
}

// handOver passes the conversation on to the next turn of this store. A turn whose end could not be
// written, as on a full disk, holds the session no more for this store, whose next turn does not
// wait.
func (t *Turn) handOver() {
	t.writing <- struct{}{} // what still writes has heard that the turn is over
	defer func() { <-t.writing }()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(t.isOver(), ErrLost):
		return
	case t.state.open != nil:
		t.parts.abandoned.add(t.lease.claim.Token)
		return
	}
	mine := *t.state // for those who still ask: the next turn adds to the other
	t.parts.tails.put(t.session.ID, t.state)
	t.state = &mine
}

// lose is what happens when the lease is gone.
func (t *Turn) lose(why error) {
	t.close(fmt.Errorf("session %s: %w: %w", t.session.ID, ErrLost, why))
}

// close lets nothing more be written; only its first reason counts.
func (t *Turn) close(why error) {
	t.shut(why)
	t.cancel(why)
}

// isOver is why nothing more can be written; nil: it can.
func (t *Turn) isOver() error { return context.Cause(t.open) }

// proposeTitle gives a session without a title that of its first message. That can wait: what fails here
// is tried again by End, which tells.
func (t *Turn) proposeTitle(ctx context.Context, text string) {
	t.mu.Lock()
	first := t.session.Title == "" && t.title == ""
	if first {
		t.title = titleOf(text)
	}
	t.mu.Unlock()
	if first {
		_ = t.setTitle(ctx)
	}
}

func (t *Turn) setTitle(ctx context.Context) error {
	t.mu.Lock()
	title := t.title
	t.mu.Unlock()
	if title == "" {
		return nil
	}
	_, err := t.store.Update(ctx, t.session.ID, func(s *session.Session) error {
		if s.Title == "" {
			s.Title = title
		}
		return nil
	})
	return err
}
