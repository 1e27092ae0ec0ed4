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

// The reasons why a turn cannot write any more.
var (
	ErrLost  = errors.New("the turn has lost its session")
	ErrEnded = errors.New("the turn has ended")
)

// endTimeout limits [Turn.End], which must also work if the caller's context was cancelled. It is
// long enough for the engine to move to another process, and shorter than a lease.
const endTimeout = 10 * time.Second

// A Turn is a running turn, and writes to the session's transcript. It holds the session until
// [Turn.End], which must be called. It is safe for concurrent use.
type Turn struct {
	store   *Store
	parts   *parts
	session session.Session // as it was when the turn began
	id      string
	lease   *sessionLease
	ctx     context.Context // the context for the caller's work
	cancel  context.CancelCauseFunc
	open    context.Context // ends when nothing more can be written, and says why; not ended by the caller's context
	shut    context.CancelCauseFunc

	writing chan struct{} // holds one token while an entry is written, which guards the next two fields
	written int           // how many entries were tried, for their ids
	unsure  [][]byte      // entries that may or may not be written: no answer came

	mu    sync.Mutex // protects the fields below
	state *state     // the known transcript: entries are written only behind its last one. Only the holder of the token of writing changes it
	title string     // the title to be set; "": the session has one, or there was no message

	end   sync.Once
	ended error // the result of End
}

// ID returns the turn's id.
func (t *Turn) ID() string { return t.id }

// Session returns the session as it was when the turn began.
func (t *Turn) Session() session.Session { return t.session }

// Context returns a context that ends with the context given to [Store.Begin], with [Turn.End], or
// when the lease is lost. If the lease is lost, its cause is an [ErrLost] that says why.
func (t *Turn) Context() context.Context { return t.ctx }

// Messages returns the conversation with compactions applied. The caller must not change the list,
// which is not copied.
func (t *Turn) Messages() []model.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.messageList()
}

// Earlier returns how many replies of the model were removed by compactions.
func (t *Turn) Earlier() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.state.replies-t.state.currentReplies, 0)
}

// Append adds messages to the conversation. When it returns nil, they are on disk. After an error,
// the messages before the failed one are on disk. The first message of the user becomes the title
// of a session that has none.
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

// Compact replaces the conversation by fewer messages. The transcript still has the earlier ones.
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

// End records how the turn ended and releases the session, also if ctx was cancelled long ago. Only
// the first call counts; later calls return its result.
func (t *Turn) End(ctx context.Context, status session.Status) error {
	t.end.Do(func() { t.ended = t.finish(ctx, status) })
	return t.ended
}

func (t *Turn) finish(ctx context.Context, status session.Status) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := checkEnd(status)
	if err != nil {
		status = session.Failed // the turn ends anyway
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

// handOver passes the conversation on to the next turn of this store. If the end of the turn could
// not be written, as on a full disk, this store treats the claim as ended, so that its next turn
// does not wait.
func (t *Turn) handOver() {
	t.writing <- struct{}{} // waits for a running write, which stops because the turn has ended
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
	mine := *t.state // a copy for callers that still ask: the next turn adds to the original
	t.parts.tails.put(t.session.ID, t.state)
	t.state = &mine
}

// lose ends the turn after its lease was lost.
func (t *Turn) lose(why error) {
	t.close(fmt.Errorf("session %s: %w: %w", t.session.ID, ErrLost, why))
}

// close prevents further writes. Only the first reason counts.
func (t *Turn) close(why error) {
	t.shut(why)
	t.cancel(why)
}

// isOver returns why nothing more can be written, or nil.
func (t *Turn) isOver() error { return context.Cause(t.open) }

// proposeTitle makes the first message the title of a session without one. If that fails, End tries
// again and returns the error.
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
