package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// pages reads all pages of the given size, and returns the ids.
func pages(t *testing.T, s *Store, limit int) []string {
	t.Helper()
	var ids []string
	for cursor := ""; ; {
		page, err := s.Page(t.Context(), session.PageRequest{Limit: limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Sessions); n > limit || n < limit && page.Next != "" {
			t.Fatalf("a page of %d with %d sessions, next %q", limit, n, page.Next)
		}
		for _, one := range page.Sessions {
			ids = append(ids, one.ID)
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
	}
}

func listed(t *testing.T, s *Store) []string {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	return ids
}

func TestPage(t *testing.T) {
	s := newStore(t)
	ctx := t.Context()
	t.Run("there is one page without sessions", func(t *testing.T) {
		page, err := s.Page(ctx, session.PageRequest{})
		if err != nil || page.Sessions == nil || len(page.Sessions) != 0 || page.Next != "" {
			t.Errorf("got %+v, %v", page, err)
		}
	})
	makeAtOnce(t, s, 4*slack)
	t.Run("pages have the sessions of the list, in its order", func(t *testing.T) {
		want := listed(t, s)
		for _, limit := range []int{7, session.DefaultPage, len(want), len(want) + 1} {
			if got := pages(t, s, limit); !slices.Equal(got, want) {
				t.Errorf("pages of %d: %d sessions, not the %d of the list", limit, len(got), len(want))
			}
		}
	})
	t.Run("without a limit a page has a default", func(t *testing.T) {
		page, err := s.Page(ctx, session.PageRequest{})
		if err != nil || len(page.Sessions) != session.DefaultPage || page.Next == "" {
			t.Errorf("%d sessions, %v", len(page.Sessions), err)
		}
	})
	t.Run("a cursor stays valid when sessions are added and deleted, also its own", func(t *testing.T) {
		want := listed(t, s)
		page, err := s.Page(ctx, session.PageRequest{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		create(t, s, session.Session{})
		for _, one := range page.Sessions {
			if err := s.Delete(ctx, one.ID); err != nil {
				t.Fatal(err)
			}
		}
		next, err := s.Page(ctx, session.PageRequest{Limit: 1, Cursor: page.Next})
		if err != nil || len(next.Sessions) != 1 || next.Sessions[0].ID != want[10] {
			t.Errorf("got %+v, %v; want %s", next, err, want[10])
		}
	})
	t.Run("however many were deleted, a page is full", func(t *testing.T) {
		for _, id := range listed(t, s)[:2*slack] {
			if err := s.Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := pages(t, s, 20), listed(t, s); !slices.Equal(got, want) {
			t.Errorf("%d sessions, not %d", len(got), len(want))
		}
	})
	t.Run("a place without a session is skipped", func(t *testing.T) {
		for range 30 { // a process that dies while it makes a session leaves such a place
			now := time.Now().UTC()
			if err := s.opened.order.add(ctx, place{id: session.NewID(session.Prefix, now), CreatedAt: now}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := pages(t, s, 20), listed(t, s); !slices.Equal(got, want) {
			t.Errorf("%d sessions, not %d", len(got), len(want))
		}
	})
	t.Run("an invalid cursor is refused", func(t *testing.T) {
		page, err := s.Page(ctx, session.PageRequest{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		good := strings.Split(page.Next, ".")
		for _, cursor := range []string{"x", "..", "1.2.3", page.Next + ".", "-" + page.Next, page.Sessions[0].ID, strings.Join([]string{"0", good[1], good[2]}, "."),
			strings.Join([]string{good[0], "1", good[2]}, "."), strings.Join([]string{good[0], good[1], good[2] + "0"}, ".")} {
			if _, err := s.Page(ctx, session.PageRequest{Cursor: cursor}); !errors.Is(err, session.ErrCursor) {
				t.Errorf("%q: %v", cursor, err)
			}
		}
	})
}

// makeAtOnce makes sessions, several at a time.
func makeAtOnce(t *testing.T, s *Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				if _, err := s.Create(t.Context(), session.Session{WorkingDir: "/w"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestPageReadsNoOtherSessions checks that the number of records that a page reads does not grow
// with the number of sessions.
func TestPageReadsNoOtherSessions(t *testing.T) {
	s := newStore(t)
	makeAtOnce(t, s, 512)
	records := &countedBucket{Bucket: s.opened.records}
	places := &counting{Stream: s.opened.order.stream}
	s.opened.records, s.opened.order.stream = records, places
	page, err := s.Page(t.Context(), session.PageRequest{Limit: 20})
	if err != nil || len(page.Sessions) != 20 {
		t.Fatalf("%d sessions, %v", len(page.Sessions), err)
	}
	if _, err := s.Page(t.Context(), session.PageRequest{Limit: 20, Cursor: page.Next}); err != nil {
		t.Fatal(err)
	}
	if n := records.read.Load(); n != 42 {
		t.Errorf("%d sessions were read for two pages", n)
	}
	if n := places.read.Load(); n > 2*(22+2*slack) {
		t.Errorf("%d places were read for two pages", n)
	}
	records.read.Store(0)
	if _, err := s.Last(t.Context(), "/w"); err != nil {
		t.Fatal(err)
	}
	if n := records.read.Load(); n > lookBack+slack+1 {
		t.Errorf("%d sessions were read to find the last", n)
	}
}

type countedBucket struct {
	engine.Bucket
	read atomic.Int64
}

func (b *countedBucket) GetAll(ctx context.Context, keys []string) ([]engine.Value, error) {
	b.read.Add(int64(len(keys)))
	return b.Bucket.GetAll(ctx, keys)
}

func (b *countedBucket) Values(context.Context, string) ([]engine.Value, error) {
	return nil, errors.New("all sessions were read")
}

// TestOrderOfAnEarlierVersion checks that sessions without a place get one, once, also if several
// stores look at the same time.
func TestOrderOfAnEarlierVersion(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	old := New(e)
	p, err := old.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		at := time.Date(2026, 1, 1, 0, 0, 40-i, 0, time.UTC)
		made := session.Session{ID: session.NewID(session.Prefix, at), CreatedAt: at, Title: fmt.Sprint(i)}
		data, err := encodeSession(&made)
		if err == nil {
			_, err = p.records.Create(t.Context(), made.ID, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := New(e).Page(t.Context(), session.PageRequest{}); err != nil {
				t.Error(err)
			}
			if _, err := New(e).Create(t.Context(), session.Session{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := pages(t, New(e), 15), listed(t, old); len(want) != 44 || !slices.Equal(got, want) {
		t.Errorf("%d sessions, not the %d of the list", len(got), len(want))
	}
}
