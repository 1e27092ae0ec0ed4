package sessionstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestStore(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()

	t.Run("a new session has an id, a time, and a list of plugins", func(t *testing.T) {
		made := create(t, s, session.Session{WorkingDir: "/src"})
		if !strings.HasPrefix(made.ID, "ses_") || made.CreatedAt.IsZero() || made.Plugins == nil {
			t.Errorf("got %+v", made)
		}
		got, err := s.Get(ctx, made.ID)
		if err != nil || got.WorkingDir != "/src" || !got.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("got %+v, %v", got, err)
		}
		if text, err := json.Marshal(got); err != nil || !strings.Contains(string(text), `"plugins":[]`) {
			t.Errorf("got %s, %v", text, err)
		}
	})
	t.Run("a session that does not exist is not found", func(t *testing.T) {
		for _, id := range []string{"", "ses_none", "*", ">", "a.b", "../x", "ses_ü", "\x00any", "\x00below"} {
			if _, err := s.Get(ctx, id); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("get %q: %v", id, err)
			}
			if _, err := s.Transcript(ctx, id); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("transcript of %q: %v", id, err)
			}
			if _, err := s.Begin(ctx, id, BeginOptions{}); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("begin %q: %v", id, err)
			}
			if err := s.Delete(ctx, id); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("delete %q: %v", id, err)
			}
		}
	})
	t.Run("an update keeps the id and the time of creation", func(t *testing.T) {
		made := create(t, s, session.Session{})
		got, err := s.Update(ctx, made.ID, func(c *session.Session) error {
			*c = session.Session{ID: "other", Title: "new", Plugins: []string{"a"}}
			return nil
		})
		if err != nil || got.ID != made.ID || !got.CreatedAt.Equal(made.CreatedAt) || got.Title != "new" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("an update that returns an error changes nothing", func(t *testing.T) {
		made := create(t, s, session.Session{Title: "old"})
		refused := errors.New("refused")
		_, err := s.Update(ctx, made.ID, func(c *session.Session) error { c.Title = "new"; return refused })
		got, _ := s.Get(ctx, made.ID)
		if !errors.Is(err, refused) || got.Title != "old" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("no update is lost among many at once", func(t *testing.T) {
		made := create(t, s, session.Session{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				name := fmt.Sprint("plugin", i)
				if _, err := s.Update(ctx, made.ID, func(c *session.Session) error { c.Plugins = append(c.Plugins, name); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := s.Get(ctx, made.ID)
		slices.Sort(got.Plugins)
		if err != nil || len(slices.Compact(got.Plugins)) != 8 {
			t.Errorf("got %v, %v", got.Plugins, err)
		}
	})
}

func TestDelete(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()

	t.Run("no data of a session remains", func(t *testing.T) {
		made, other := create(t, s, session.Session{}), create(t, s, session.Session{})
		for _, id := range []string{made.ID, other.ID} {
			turn := begin(t, s, id, BeginOptions{})
			appendTo(t, turn, user("hello"))
			end(t, turn, session.Done)
		}
		if err := s.Delete(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, made.ID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("record: %v", err)
		}
		if n, err := s.opened.transcripts.Last(ctx, made.ID); err != nil || n != 0 {
			t.Errorf("transcript: %d, %v", n, err)
		}
		if got := outline(t, s, other.ID); got != "began user done" {
			t.Errorf("the other session: %s", got)
		}
	})
	t.Run("the next delete removes the remains of an interrupted one", func(t *testing.T) {
		made := create(t, s, session.Session{})
		end(t, begin(t, s, made.ID, BeginOptions{}), session.Done)
		if err := s.opened.records.Delete(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, made.ID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if n, err := s.opened.transcripts.Last(ctx, made.ID); err != nil || n != 0 {
			t.Errorf("transcript: %d, %v", n, err)
		}
	})
	t.Run("if the disk is full, nothing is removed", func(t *testing.T) {
		made := create(t, s, session.Session{})
		full := New(fullDisk{s.engine})
		if err := full.Delete(ctx, made.ID); !errors.Is(err, engine.ErrDisk) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Get(ctx, made.ID); err != nil {
			t.Error(err)
		}
	})
	t.Run("a session deleted while a turn begins leaves no entries", func(t *testing.T) {
		made := create(t, s, session.Session{})
		racing := whileBeginning(s, func() { _ = s.Delete(ctx, made.ID) })
		if _, err := racing.Begin(ctx, made.ID, BeginOptions{}); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if n, err := s.opened.transcripts.Last(ctx, made.ID); err != nil || n != 0 {
			t.Errorf("transcript: %d, %v", n, err)
		}
		if _, err := s.opened.leases.Get(ctx, made.ID); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("lease: %v", err)
		}
	})
}

func TestFind(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	first := create(t, s, session.Session{WorkingDir: "/a"})
	second := create(t, s, session.Session{WorkingDir: "/b"})
	third := create(t, s, session.Session{WorkingDir: "/a"})
	names := map[string]string{first.ID: "first", second.ID: "second", third.ID: "third"}

	t.Run("the list has the newest first", func(t *testing.T) {
		list, err := s.List(ctx)
		if err != nil || len(list) != 3 {
			t.Fatalf("got %v, %v", list, err)
		}
		if got := names[list[0].ID] + " " + names[list[1].ID] + " " + names[list[2].ID]; got != "third second first" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("without messages, the last session of a directory is the newest", func(t *testing.T) {
		if got, err := s.Last(ctx, "/a/"); err != nil || got.ID != third.ID {
			t.Errorf("got %s, %v", names[got.ID], err)
		}
	})
	t.Run("the last of a directory is the one that was used last", func(t *testing.T) {
		for _, id := range []string{third.ID, first.ID, second.ID} {
			end(t, begin(t, s, id, BeginOptions{}), session.Done)
		}
		if got, err := s.Last(ctx, "/a"); err != nil || got.ID != first.ID {
			t.Errorf("got %s, %v", names[got.ID], err)
		}
		if got, err := s.Last(ctx, ""); err != nil || got.ID != second.ID {
			t.Errorf("anywhere: got %s, %v", names[got.ID], err)
		}
		if _, err := s.Last(ctx, "/c"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("elsewhere: got %v", err)
		}
	})
	t.Run("a session is found by its id and by a prefix", func(t *testing.T) {
		for _, given := range []string{second.ID, second.ID[:len(second.ID)-1], strings.TrimPrefix(second.ID, "ses_")} {
			if got, err := s.Find(ctx, given); err != nil || got.ID != second.ID {
				t.Errorf("%q: got %s, %v", given, names[got.ID], err)
			}
		}
	})
	t.Run("a prefix of several ids is an error that lists them", func(t *testing.T) {
		_, err := s.Find(ctx, "ses_0")
		var many *AmbiguousError
		if !errors.As(err, &many) || len(many.IDs) != 3 || !strings.Contains(err.Error(), first.ID) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a prefix of no id is not found", func(t *testing.T) {
		for _, given := range []string{"", "ses_", "ses_zzz", "*"} {
			if _, err := s.Find(ctx, given); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("%q: got %v", given, err)
			}
		}
	})
}

type fullDisk struct{ engine.Store }

func (fullDisk) Writable() error { return engine.ErrDisk }
