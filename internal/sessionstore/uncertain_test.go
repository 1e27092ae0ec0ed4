package sessionstore

import (
	"context"
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestUncertain loses answers and requests between a turn and the engine.
func TestUncertain(t *testing.T) {
	good := newStore(t)
	s, faults, err := behindFaults(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule            string
		answers, lost   int32
		forgetful, fail bool
	}{
		{rule: "a lost request is sent again", lost: 2},
		{rule: "an entry whose answer was lost is not written twice", answers: 2},
		{rule: "an entry is not written twice if the engine has forgotten its id", answers: 1, forgetful: true},
		{rule: "an entry that never gets through is an error", lost: writeTries, fail: true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			id := create(t, s, session.Session{}).ID
			turn := begin(t, s, id, BeginOptions{})
			faults.loseAnswers.Store(c.answers)
			faults.loseRequests.Store(c.lost)
			faults.forgetful.Store(c.forgetful)
			err := turn.Append(t.Context(), user("hello"))
			faults.forgetful.Store(false)
			if c.fail != errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
			appendTo(t, turn, say(model.Assistant, "hello yourself"))
			end(t, turn, session.Done)
			want := "began user assistant done"
			if c.fail {
				want = "began assistant done"
			}
			if got := outline(t, good, id); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("an entry that was given up but written is recognized", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		faults.loseAnswers.Store(1)
		p := *s.opened
		p.transcripts = cancelling{p.transcripts, cancel}
		turn.parts = &p
		if err := turn.Append(ctx, user("hello")); err == nil {
			t.Fatal("no answer came, but there was no error")
		}
		turn.parts = s.opened
		appendTo(t, turn, say(model.Assistant, "hello yourself"))
		if got := turn.Messages(); len(got) != 2 || got[0].Content != "hello" {
			t.Errorf("got %+v", got)
		}
		end(t, turn, session.Interrupted)
		if got := outline(t, good, id); got != "began user assistant interrupted" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a turn begins although answers are lost", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		faults.loseAnswers.Store(1)
		end(t, begin(t, s, id, BeginOptions{}), session.Done)
		if got := outline(t, good, id); got != "began done" {
			t.Errorf("got %s", got)
		}
	})
}

// A cancelling stream cancels its caller's context while it writes.
type cancelling struct {
	engine.Stream
	cancel func()
}

func (c cancelling) Append(ctx context.Context, r engine.Append) (uint64, error) {
	defer c.cancel()
	return c.Stream.Append(ctx, r)
}

// TestUncertainClaim loses the answers to the entries with which turns begin.
func TestUncertainClaim(t *testing.T) {
	good := lasting(embedded.Engine(t, t.TempDir()))
	s, faults, err := behindFaults(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a claim whose result is unknown does not remain", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		faults.loseAnswers.Store(writeTries)
		if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.Is(err, engine.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		end(t, begin(t, lasting(good.engine), id, BeginOptions{}), session.Done)
		if got := outline(t, good, id); got != "began interrupted began done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a caller that gave up leaves no claim", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		ctx, cancel := context.WithCancel(t.Context())
		p := *s.opened
		p.transcripts = cancelling{&faulty{Stream: good.opened.transcripts}, cancel}
		p.transcripts.(cancelling).Stream.(*faulty).loseAnswers.Store(1)
		hasty := &Store{ttl: s.ttl, opened: &p}
		if _, err := hasty.Begin(ctx, id, BeginOptions{}); err == nil {
			t.Fatal("no answer came, but there was no error")
		}
		end(t, begin(t, lasting(good.engine), id, BeginOptions{}), session.Done)
	})
	t.Run("a failure to begin does not change another turn's claim", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		running := begin(t, good, id, BeginOptions{Owner: "runs"})
		var busy *session.BusyError
		if _, err := s.Begin(t.Context(), id, BeginOptions{}); !errors.As(err, &busy) || busy.Owner != "runs" {
			t.Fatalf("got %v", err)
		}
		appendTo(t, running, user("still here"))
		end(t, running, session.Done)
	})
}
