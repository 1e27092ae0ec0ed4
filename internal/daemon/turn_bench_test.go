package daemon

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

// BenchmarkTurn measures a turn of a session with n earlier messages, with the offline model and no
// plugin.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := openFor(b)
			id := talked(b, c, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Turn(b.Context(), TurnRequest{Session: id, Text: "and now?"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResume measures `chat --resume -p`: a new process opens everything, runs one turn of an
// existing session, and closes.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := testHome{home: b.TempDir()}.options()
			first, err := Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			talked(b, first, n)
			if err := first.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				resume(b, o)
			}
		})
	}
}

func resume(b *testing.B, o Options) {
	b.Helper()
	c, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.Sessions.Last(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	_, err = c.Turn(b.Context(), TurnRequest{Session: s.ID, Text: "and now?"})
	if err = errors.Join(err, c.Close()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTurns measures turns of many sessions at once.
func BenchmarkTurns(b *testing.B) {
	const sessions = 50
	c := openFor(b)
	y := &tally{Store: c.Engine, writes: make(map[string]int)}
	c.Sessions, c.Journal = sessionstore.New(y), journal.New(y, journal.Options{})
	var ids []string
	for range sessions {
		ids = append(ids, talked(b, c, 2))
	}
	y.take()
	var begun atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for begun.Add(1) <= int64(b.N) {
				if _, err := c.Turn(b.Context(), TurnRequest{Session: id, Text: "and now?"}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	for name, n := range y.writes {
		b.ReportMetric(float64(n)/float64(b.N), name+"/turn")
	}
}

func openFor(b *testing.B) *Core {
	b.Helper()
	c, err := Open(b.Context(), testHome{home: b.TempDir()}.options())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	return c
}

// talked returns a session with n messages, which are too short to be compacted, in the daemon's
// own project.
func talked(b *testing.B, c *Core, n int) string {
	b.Helper()
	s, err := c.Sessions.Create(b.Context(), session.Session{Title: "long"})
	if err != nil {
		b.Fatal(err)
	}
	t, err := c.Sessions.Begin(b.Context(), s.ID, sessionstore.BeginOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		role := []model.Role{model.User, model.Assistant}[i%2]
		if err := t.Append(b.Context(), model.Message{Role: role, Content: fmt.Sprint("message ", i)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := t.End(b.Context(), session.Done); err != nil {
		b.Fatal(err)
	}
	return s.ID
}
