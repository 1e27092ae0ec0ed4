package engine

import (
	"context"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// scrubRest is how many times longer a scrub pauses after a block than its check took. So it uses a
// fifth of one core and of the disk.
const scrubRest = 4

// A scrub checks the blocks that were not read at the start, while the server runs. A disk may have
// changed bytes without changing the time of a file, and the server skips or cuts off unreadable
// bytes silently.
type scrub struct {
	unread *blocks.Unread
	watch  *rebuildWatch
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
}

func startScrub(unread *blocks.Unread, watch *rebuildWatch) *scrub {
	ctx, cancel := context.WithCancel(context.Background())
	s := &scrub{unread: unread, watch: watch, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
	return s
}

// stop ends the scrub and waits for it, at most as long as the check of one block takes.
func (s *scrub) stop() {
	s.cancel()
	<-s.done
}

// run checks one block after another until it is stopped. It ends at the first damaged block: the
// server is then replaced, and all blocks are read before the next one starts.
func (s *scrub) run(ctx context.Context) {
	defer s.unread.Forget() // frees the indexes: the server runs for long
	s.unread.ReadIndexes()
	for i := range s.unread.Len() {
		begin := time.Now()
		if ctx.Err() != nil || !s.isUndamaged(i) {
			return
		}
		pause.For(ctx, scrubRest*time.Since(begin))
	}
}

// isUndamaged checks a block. If it is damaged, isUndamaged logs that and requests a new server.
func (s *scrub) isUndamaged(i int) bool {
	report, err := s.check(i, time.Now())
	if err != nil {
		s.watch.log.Error("engine: cannot check or copy a block", "err", err)
	}
	if report == nil {
		return true
	}
	logDamage(s.watch.log, "engine: a block of the store is damaged; restarting the server to recover all undamaged messages", *report)
	s.watch.replace()
	return false
}

func (s *scrub) check(i int, now time.Time) (*Report, error) {
	s.watch.keeping.Lock()
	defer s.watch.keeping.Unlock()
	return s.unread.Check(i, now)
}
