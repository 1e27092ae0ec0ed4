package sessionstore

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// turnOf runs a turn with one message.
func turnOf(t *testing.T, s *Store, id, text string) {
	t.Helper()
	turn := begin(t, s, id, BeginOptions{})
	appendTo(t, turn, user(text), say(model.Assistant, "yes"))
	end(t, turn, session.Done)
}

func search(t *testing.T, s *Store, q session.Query) (found []session.Summary, more bool) {
	t.Helper()
	found, more, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found, more
}

func TestSearch(t *testing.T) {
	s := newStore(t)
	first := create(t, s, session.Session{WorkingDir: "/a", From: session.FromChat})
	second := create(t, s, session.Session{WorkingDir: "/b", From: session.FromHTTP})
	other, err := s.CreateHost(t.Context(), session.Session{WorkingDir: "/a", Host: "claude", HostSession: "x"})
	if err != nil {
		t.Fatal(err)
	}
	turnOf(t, s, first.ID, "one")
	turnOf(t, s, first.ID, "two")

	for rule, c := range map[string]struct {
		query session.Query
		ids   []string
		more  bool
	}{
		"all, the newest first": {session.Query{}, []string{other.ID, second.ID, first.ID}, false},
		"of a directory":        {session.Query{WorkingDir: "/a/"}, []string{other.ID, first.ID}, false},
		"of a host":             {session.Query{Host: "claude"}, []string{other.ID}, false},
		"not of other agents":   {session.Query{Own: true}, []string{second.ID, first.ID}, false},
		"something was said":    {session.Query{Said: true}, []string{first.ID}, false},
		"there are more":        {session.Query{Limit: 2}, []string{other.ID, second.ID}, true},
		"none":                  {session.Query{Host: "gemini"}, nil, false},
	} {
		t.Run(rule, func(t *testing.T) {
			found, more := search(t, s, c.query)
			var ids []string
			for _, one := range found {
				ids = append(ids, one.ID)
			}
			if len(ids) != len(c.ids) || more != c.more {
				t.Fatalf("got %v, more %v; want %v, %v", ids, more, c.ids, c.more)
			}
			for i := range ids {
				if ids[i] != c.ids[i] {
					t.Errorf("got %v, want %v", ids, c.ids)
				}
			}
		})
	}
}

func TestTurnsAreCounted(t *testing.T) {
	s := newStore(t)
	one := create(t, s, session.Session{})
	summary := func() session.Summary {
		t.Helper()
		sum, err := s.Summarize(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	if sum := summary(); sum.Turns != 0 || !sum.UsedAt.Equal(one.CreatedAt) {
		t.Errorf("nothing was said: %+v", sum)
	}
	for range 3 {
		turnOf(t, s, one.ID, "more")
	}
	turn := begin(t, s, one.ID, BeginOptions{})
	if err := turn.Compact(t.Context(), session.Compaction{Messages: []model.Message{user("short")}}); err != nil {
		t.Fatal(err)
	}
	end(t, turn, session.Done)
	fresh := New(s.engine) // a store with an empty cache
	turnOf(t, fresh, one.ID, "after it")
	if sum := summary(); sum.Turns != 5 || !sum.UsedAt.After(one.CreatedAt) {
		t.Errorf("five turns, one of them a compaction: %+v", sum)
	}

	t.Run("the transcript is read if entries do not have the number", func(t *testing.T) {
		old := create(t, s, session.Session{})
		p, err := s.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{`{"turn":"a","status":"began"}`, `{"turn":"a","status":"done"}`, `{"turn":"b","status":"began"}`, `{"turn":"b","status":"done"}`} {
			if _, err := p.transcripts.Append(t.Context(), engine.Append{Topic: old.ID, Data: []byte(line)}); err != nil {
				t.Fatal(err)
			}
		}
		if sum, err := s.Summarize(t.Context(), old); err != nil || sum.Turns != 2 {
			t.Errorf("got %+v, %v", sum, err)
		}
		turnOf(t, s, old.ID, "now")
		if sum, err := s.Summarize(t.Context(), old); err != nil || sum.Turns != 3 {
			t.Errorf("a new turn goes on counting: %+v, %v", sum, err)
		}
	})
}

func TestTurnsOfOtherAgentsAreCounted(t *testing.T) {
	s := newStore(t)
	one, err := s.CreateHost(t.Context(), session.Session{Host: "claude", HostSession: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range []string{"turn_a", "turn_a", "turn_b"} {
		if err := s.NoteTurn(t.Context(), one.ID, turn); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, turn := range []string{"turn_c", "turn_d", "turn_e"} {
		all.Go(func() {
			if err := s.NoteTurn(t.Context(), one.ID, turn); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if sum, err := s.Summarize(t.Context(), one); err != nil || sum.Turns != 5 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if _, err := s.Last(t.Context(), ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a session of another agent cannot be continued here: %v", err)
	}
}

func TestRemove(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	one := create(t, s, session.Session{})
	busy := func(t *testing.T, open bool) {
		t.Helper()
		err := New(s.engine).Remove(ctx, one.ID)
		if got, ok := errors.AsType[*session.BusyError](err); !ok || got.Open != open {
			t.Fatalf("got %v", err)
		}
		if _, err := s.Get(ctx, one.ID); err != nil {
			t.Errorf("the session is still stored: %v", err)
		}
	}
	t.Run("a turn is running", func(t *testing.T) {
		turn := begin(t, s, one.ID, BeginOptions{})
		busy(t, false)
		appendTo(t, turn, user("the turn goes on"))
		end(t, turn, session.Done)
	})
	t.Run("a conversation is open", func(t *testing.T) {
		release, err := s.Open(ctx, one.ID)
		if err != nil {
			t.Fatal(err)
		}
		busy(t, true)
		if err := release(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Run("a process that is gone has nothing open", func(t *testing.T) {
		dead := New(s.engine)
		dead.Holder.Start++ // another process had our number
		if dead.Holder.Machine == "" {
			t.Skip("only on Linux can we find out whether a process is alive")
		}
		if _, err := dead.Open(ctx, one.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.checkNotOpen(ctx, one.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("the session is not in use", func(t *testing.T) {
		if err := s.Remove(ctx, one.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Transcript(ctx, one.ID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if err := s.Remove(ctx, one.ID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a second time: %v", err)
		}
	})
	for _, id := range []string{"", "../x", "a/b", "x\x00", "*", ">"} {
		if err := s.Remove(context.Background(), id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestSearchWhileOthersDelete checks that a session that is deleted meanwhile may or may not be
// listed, but is never an error.
func TestSearchWhileOthersDelete(t *testing.T) {
	s := newStore(t)
	var ids []string
	for range 40 {
		ids = append(ids, create(t, s, session.Session{}).ID)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for _, id := range ids {
			if err := s.Remove(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	})
	for {
		if found, _ := search(t, s, session.Query{}); len(found) == 0 {
			break
		}
	}
	all.Wait()
}
