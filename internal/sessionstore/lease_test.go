package sessionstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestLease(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	one, two := shortLived(e), shortLived(e)
	ctx := t.Context()

	t.Run("of many turns begun at once exactly one runs", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		var mu sync.Mutex
		var won []*Turn
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				turn, err := []*Store{one, two}[i%2].Begin(ctx, id, BeginOptions{Owner: "racer"})
				var busy *session.BusyError
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, turn)
				} else if !errors.As(err, &busy) || busy.Owner != "racer" || busy.Session != id {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d turns run", len(won))
		}
		end(t, won[0], session.Done)
		if got := outline(t, one, id); got != "began done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a running turn keeps its lease for longer than it lasts", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		for start := time.Now(); time.Since(start) < 3*shortTTL; time.Sleep(shortTTL / 4) {
			var busy *session.BusyError
			if _, err := two.Begin(ctx, id, BeginOptions{}); !errors.As(err, &busy) {
				t.Fatalf("got %v", err)
			}
		}
		appendTo(t, turn, user("still here"))
		end(t, turn, session.Done)
	})
	t.Run("sessions do not wait for each other", func(t *testing.T) {
		a := begin(t, one, create(t, one, session.Session{}).ID, BeginOptions{})
		b := begin(t, two, create(t, one, session.Session{}).ID, BeginOptions{})
		end(t, a, session.Done)
		end(t, b, session.Done)
	})
	t.Run("without an owner the process is named", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		if _, err := two.Begin(ctx, id, BeginOptions{}); err == nil || !strings.Contains(err.Error(), "(process ") {
			t.Errorf("got %v", err)
		}
		end(t, turn, session.Done)
	})
	t.Run("a lease that is not renewed expires, and the turn counts as interrupted", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		stalled := begin(t, one, id, BeginOptions{})
		appendTo(t, stalled, user("hello"), calling("1", "2"), result("1"))
		stall(stalled)
		next := beginWhenFree(t, two, id)
		if got := outline(t, two, id); got != "began user assistant tool tool(failed) interrupted began" {
			t.Errorf("got %s", got)
		}
		end(t, next, session.Done)
	})
}

func TestLost(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	one, two := shortLived(e), shortLived(e)
	ctx := t.Context()

	t.Run("a turn that continues after another has begun cannot write", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		stalled := begin(t, one, id, BeginOptions{})
		appendTo(t, stalled, user("hello"))
		stall(stalled)
		next := beginWhenFree(t, two, id)
		for range 2 {
			if err := stalled.Append(ctx, user("late")); !errors.Is(err, ErrLost) {
				t.Errorf("append: %v", err)
			}
		}
		if err := stalled.Compact(ctx, session.Compaction{}); !errors.Is(err, ErrLost) {
			t.Errorf("compact: %v", err)
		}
		if cause := context.Cause(stalled.Context()); !errors.Is(cause, ErrLost) {
			t.Errorf("the context's cause: %v", cause)
		}
		if err := stalled.End(ctx, session.Done); !errors.Is(err, ErrLost) {
			t.Errorf("end: %v", err)
		}
		appendTo(t, next, user("mine")) // the lease of the other turn has not changed
		end(t, next, session.Done)
		if got := outline(t, two, id); got != "began user interrupted began user done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a turn that continues after another has begun and ended cannot write", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		stalled := begin(t, one, id, BeginOptions{})
		stall(stalled)
		end(t, beginWhenFree(t, two, id), session.Done)
		if err := stalled.Append(ctx, user("late")); !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a turn that begins sees the entries that another writes at that moment", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		stalled := begin(t, one, id, BeginOptions{})
		stall(stalled)
		written := false
		next := beginWhenFree(t, whileBeginning(one, func() { written = stalled.Append(ctx, user("just in time")) == nil }), id)
		if got := next.Messages(); !written || len(got) != 1 || got[0].Content != "just in time" {
			t.Errorf("got %v, %+v", written, got)
		}
		end(t, next, session.Done)
		if got := outline(t, two, id); got != "began user interrupted began done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a turn whose session another has taken cannot write, and the error names the other", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		plant(t, one, id, []byte(thief))
		cause := lostBy(t, turn)
		if !errors.Is(cause, ErrLost) || !strings.Contains(cause.Error(), "the thief") {
			t.Errorf("got %v", cause)
		}
		if err := turn.Append(ctx, user("late")); !errors.Is(err, ErrLost) {
			t.Errorf("append: %v", err)
		}
	})
	t.Run("an append that hangs returns when the lease is lost", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		hung := hanging{one.opened.transcripts, make(chan struct{}, 1)}
		p := *one.opened
		p.transcripts = hung
		turn.parts = &p
		result := make(chan error)
		go func() { result <- turn.Append(context.Background(), user("hello")) }()
		<-hung.entered
		plant(t, one, id, []byte(thief))
		if err := <-result; !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("heartbeats that were deleted while the machine slept are written again if no other turn has the session", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{Owner: "sleeper"})
		if err := one.opened.leases.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "the heartbeat is written again", func() bool {
			v, err := one.opened.leases.Get(ctx, id)
			return err == nil && readClaim(v.Data).Owner == "sleeper"
		})
		appendTo(t, turn, user("awake"))
		end(t, turn, session.Done)
	})
	t.Run("deleting a session cuts off its turn", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		if err := two.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		if cause := lostBy(t, turn); !strings.Contains(cause.Error(), "deleted") {
			t.Errorf("got %v", cause)
		}
		if err := turn.End(ctx, session.Done); !errors.Is(err, ErrLost) {
			t.Errorf("end: %v", err)
		}
		if n, err := two.opened.transcripts.Last(ctx, id); err != nil || n != 0 {
			t.Errorf("transcript: %d, %v", n, err)
		}
	})
	t.Run("a turn that writes before it learns of the delete leaves nothing behind", func(t *testing.T) {
		id := create(t, one, session.Session{}).ID
		turn := begin(t, one, id, BeginOptions{})
		stall(turn)
		if err := two.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		if err := turn.Append(ctx, user("late")); !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
		if n, err := two.opened.transcripts.Last(ctx, id); err != nil || n != 0 {
			t.Errorf("transcript: %d, %v", n, err)
		}
	})
	t.Run("an engine that is away for longer than the lease lasts ends the turn", func(t *testing.T) {
		made := create(t, one, session.Session{})
		p := *one.opened
		p.leases = unreachable{p.leases}
		away := &Store{ttl: shortTTL, opened: &p}
		turn := begin(t, away, made.ID, BeginOptions{})
		if cause := lostBy(t, turn); !errors.Is(cause, ErrLost) || !errors.Is(cause, engine.ErrUnavailable) {
			t.Errorf("got %v", cause)
		}
	})
}

// thief is a claim of another process.
const thief = `{"token":"other","owner":"the thief","holder":{"pid":1,"name":"the thief"}}`

// An unreachable bucket fails every change, as if the engine were away.
type unreachable struct{ engine.Bucket }

func (unreachable) Put(context.Context, string, []byte) (uint64, error) {
	return 0, engine.ErrUnavailable
}

// stall stops the renewing of a turn's lease, as stopping its process does.
func stall(turn *Turn) {
	turn.lease.stop()
	<-turn.lease.done
}

func beginWhenFree(t *testing.T, s *Store, id string) *Turn {
	t.Helper()
	var turn *Turn
	eventually.True(t, "the lease runs out", func() bool {
		var err error
		turn, err = s.Begin(t.Context(), id, BeginOptions{})
		var busy *session.BusyError
		if err != nil && !errors.As(err, &busy) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = turn.End(context.Background(), session.Failed) })
	return turn
}

// lostBy waits until a turn is cut off, and returns the reason.
func lostBy(t *testing.T, turn *Turn) error {
	t.Helper()
	select {
	case <-turn.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("the turn was not cut off")
	}
	return context.Cause(turn.Context())
}
