package sessionstore

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestTurn(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()

	t.Run("the next turn has the appended messages", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		said := []model.Message{user("hello <&>"), calling("1", "2"), result("1"), result("2"), say(model.Assistant, "done")}
		turn := begin(t, s, id, BeginOptions{Turn: "turn_a"})
		appendTo(t, turn, said...)
		end(t, turn, session.Done)
		next := begin(t, s, id, BeginOptions{})
		if got := next.Messages(); !reflect.DeepEqual(got, said) {
			t.Errorf("got %+v", got)
		}
		if got, err := s.Messages(ctx, id); err != nil || !reflect.DeepEqual(got, said) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := outline(t, s, id); got != "began user assistant tool tool assistant done began" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("entries name their turn, their time and their place", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		appendTo(t, turn, user("hello"))
		entries, err := s.Transcript(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for _, e := range entries {
			if e.Turn != turn.ID() || e.Time.IsZero() || e.Sequence <= last {
				t.Errorf("got %+v", e)
			}
			last = e.Sequence
		}
	})
	t.Run("a compaction replaces the messages before it, and the transcript still has them", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		appendTo(t, turn, user("one"), say(model.Assistant, "two"))
		if err := turn.Compact(ctx, session.Compaction{Strategy: "drop", Messages: []model.Message{say(model.System, "dropped")}}); err != nil {
			t.Fatal(err)
		}
		appendTo(t, turn, user("three"))
		want := []model.Message{say(model.System, "dropped"), user("three")}
		if got := turn.Messages(); !reflect.DeepEqual(got, want) {
			t.Errorf("in the turn: %+v", got)
		}
		if got, err := s.Messages(ctx, id); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("in the store: %+v, %v", got, err)
		}
		entries, err := s.Transcript(ctx, id)
		if err != nil || len(entries) != 5 || entries[3].Compaction.Before != 2 {
			t.Errorf("got %+v, %v", entries, err)
		}
	})
	t.Run("messages that are added later do not change the caller's list", func(t *testing.T) {
		turn := begin(t, s, create(t, s, session.Session{}).ID, BeginOptions{})
		said := calling("1")
		appendTo(t, turn, said)
		said.ToolCalls[0].Arguments[2] = 'X'
		got := append(turn.Messages(), user("the caller's"))
		appendTo(t, turn, result("1"))
		if now := turn.Messages()[0].ToolCalls[0]; now.Name != "shell" || string(now.Arguments) != `{"cmd":"ls"}` {
			t.Errorf("got %+v", now)
		}
		if got[1].Content != "the caller's" || turn.Messages()[1].ToolCallID != "1" {
			t.Errorf("got %+v and %+v", got, turn.Messages())
		}
	})
	t.Run("an invalid message is refused and not written", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		broken := calling("1")
		broken.ToolCalls[0].Arguments = []byte(`{"half`)
		for _, m := range []model.Message{say("nobody", "x"), broken} {
			if err := turn.Append(ctx, m); err == nil {
				t.Errorf("%+v was taken", m)
			}
		}
		appendTo(t, turn, user("hello"))
		if got := outline(t, s, id); got != "began user" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a message too large for the engine is an error with its size, and the turn goes on", func(t *testing.T) {
		turn := begin(t, s, create(t, s, session.Session{}).ID, BeginOptions{})
		err := turn.Append(ctx, user(strings.Repeat("x", 64<<20)))
		if !errors.Is(err, engine.ErrTooLarge) || !strings.Contains(err.Error(), "67108864 bytes") {
			t.Errorf("got %v", err)
		}
		appendTo(t, turn, user("short"))
		if got := turn.Messages(); len(got) != 1 || turn.Context().Err() != nil {
			t.Errorf("got %d messages, %v", len(got), turn.Context().Err())
		}
	})
}

func TestEarlier(t *testing.T) {
	store := newStore(t)
	turn := begin(t, store, create(t, store, session.Session{}).ID, BeginOptions{})
	said := func(role model.Role, text string) model.Message { return model.Message{Role: role, Content: text} }
	if err := turn.Append(t.Context(), said(model.User, "a"), said(model.Assistant, "b"), said(model.Assistant, "c")); err != nil {
		t.Fatal(err)
	}
	if err := turn.Compact(t.Context(), session.Compaction{Messages: []model.Message{said(model.System, "sum"), said(model.Assistant, "c")}}); err != nil {
		t.Fatal(err)
	}
	if got := turn.Earlier(); got != 1 {
		t.Errorf("a compaction took out one reply, not %d", got)
	}
	if err := turn.End(t.Context(), session.Done); err != nil {
		t.Fatal(err)
	}
	again := begin(t, store, turn.Session().ID, BeginOptions{})
	if got := again.Earlier(); got != 1 {
		t.Errorf("read again: %d", got)
	}
}

func TestEnd(t *testing.T) {
	s := newStore(t)

	t.Run("a turn is ended though its context was cancelled", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		ctx, cancel := context.WithCancel(t.Context())
		turn, err := s.Begin(ctx, id, BeginOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		<-turn.Context().Done()
		if err := turn.End(ctx, session.Interrupted); err != nil {
			t.Fatal(err)
		}
		if got := outline(t, s, id); got != "began interrupted" {
			t.Errorf("got %s", got)
		}
		end(t, begin(t, s, id, BeginOptions{}), session.Done) // at once: the lease was released
	})
	t.Run("only the first end counts", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		end(t, turn, session.Done)
		end(t, turn, session.Failed)
		if got := outline(t, s, id); got != "began done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("nothing is appended after the end", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		turn := begin(t, s, id, BeginOptions{})
		end(t, turn, session.Done)
		if err := turn.Append(t.Context(), user("late")); !errors.Is(err, ErrEnded) {
			t.Errorf("got %v", err)
		}
		if cause := context.Cause(turn.Context()); !errors.Is(cause, ErrEnded) {
			t.Errorf("the context's cause: %v", cause)
		}
		if got := outline(t, s, id); got != "began done" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a status that is not an end is refused, and the lease is released anyway", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		for _, status := range []session.Status{session.Began, "", "nonsense"} {
			if err := begin(t, s, id, BeginOptions{}).End(t.Context(), status); err == nil {
				t.Errorf("%q was accepted as an end", status)
			}
		}
		end(t, begin(t, s, id, BeginOptions{}), session.Done)
	})
}

func TestTitle(t *testing.T) {
	s := newStore(t)
	titleAfter := func(t *testing.T, n session.Session, said ...model.Message) string {
		t.Helper()
		id := create(t, s, n).ID
		turn := begin(t, s, id, BeginOptions{})
		appendTo(t, turn, said...)
		got, err := s.Get(t.Context(), id) // while the turn is running
		if err != nil {
			t.Fatal(err)
		}
		end(t, turn, session.Done)
		return got.Title
	}
	t.Run("the title is the first line of the user's first message", func(t *testing.T) {
		got := titleAfter(t, session.Session{}, say(model.System, "be kind"), user("\n  fix the\tdoor \nplease"), user("other"))
		if got != "fix the door" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("an existing title stays", func(t *testing.T) {
		if got := titleAfter(t, session.Session{Title: "given"}, user("hello")); got != "given" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a later turn does not change it", func(t *testing.T) {
		id := create(t, s, session.Session{}).ID
		for _, text := range []string{"first", "second"} {
			turn := begin(t, s, id, BeginOptions{})
			appendTo(t, turn, user(text))
			end(t, turn, session.Done)
		}
		if got, err := s.Get(t.Context(), id); err != nil || got.Title != "first" {
			t.Errorf("got %q, %v", got.Title, err)
		}
	})
}
