package sessionstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// fill gives a session a transcript of n messages. It writes many at once, to save time.
func fill(tb testing.TB, s *Store, id string, n int) {
	tb.Helper()
	p, err := s.open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	const writers = 64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				m := user(fmt.Sprint(i, strings.Repeat(" word", 60)))
				data, err := encode(session.Entry{Turn: "turn_filled", Time: time.Now(), Message: &m})
				if err == nil {
					_, err = p.transcripts.Append(tb.Context(), engine.Append{Topic: id, Data: data})
				}
				if err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestTranscriptIsOneRead checks that a long transcript needs no more requests to the engine than a
// short one.
func TestTranscriptIsOneRead(t *testing.T) {
	s, faults, err := behindFaults(t.Context(), newStore(t))
	if err != nil {
		t.Fatal(err)
	}
	id := create(t, s, session.Session{}).ID
	fill(t, s, id, 500)
	entries, err := s.Transcript(t.Context(), id)
	if err != nil || len(entries) != 500 || faults.reads.Load() != 1 {
		t.Errorf("%d entries by %d reads, %v", len(entries), faults.reads.Load(), err)
	}
}

func BenchmarkTranscript10000(b *testing.B) {
	s := newStore(b)
	id := create(b, s, session.Session{}).ID
	fill(b, s, id, 10000)
	for b.Loop() {
		if _, err := s.Messages(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s := newStore(b)
	turn := begin(b, s, create(b, s, session.Session{}).ID, BeginOptions{})
	m := user(strings.Repeat("word ", 60))
	for b.Loop() {
		if err := turn.Append(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	s := newStore(b)
	id := create(b, s, session.Session{}).ID
	for b.Loop() {
		turn := begin(b, s, id, BeginOptions{})
		end(b, turn, session.Done)
	}
}

// BenchmarkPage measures a page of the newest of 5,000 sessions, and the list of all.
func BenchmarkPage(b *testing.B) {
	s := newStore(b)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				if _, err := s.Create(b.Context(), session.Session{WorkingDir: "/w", Title: "a title of some length"}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Page(b.Context(), session.PageRequest{Limit: 50}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.List(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("last", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Last(b.Context(), "/w"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
