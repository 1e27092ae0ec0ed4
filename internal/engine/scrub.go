package engine

import (
	"context"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// scrubRest is how many times longer a scrub pauses after a block than it took to check it, so that
// it needs a fifth of one core and of the disk.
const scrubRest = 4

// A scrub checks the blocks that the start has not read, while the server runs. A disk may have
// changed bytes without changing the time of a file, and the server says nothing when it passes
// over, or cuts off, what it cannot read.
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

// stop ends the scrub and waits for it, which takes as long as the check of one block.
func (s *scrub) stop() {
	s.cancel()
	<-s.done
}

// run checks one block after another until it is stopped. It ends at the first that is damaged: the
// next server starts after all blocks were read.
func (s *scrub) run(ctx context.Context) {
	defer s.unread.Forget() // it has read all indexes, and the server lives long
	s.unread.ReadIndexes()
	for i := range s.unread.Len() {
		begin := time.Now()
		if ctx.Err() != nil || !s.whole(i) {
			return
		}
		pause.For(ctx, scrubRest*time.Since(begin))
	}
}

// whole checks a block. Damage is told, and has the server replaced.
func (s *scrub) whole(i int) bool {
	report, err := s.check(i, time.Now())
	if err != nil {
		s.watch.log.Error("engine: a block could not be checked, or not be kept aside", "err", err)
	}
	if report == nil {
		return true
	}
	logDamage(s.watch.log, "engine: a block of the store is damaged; the server is started anew to recover what is whole", *report)
	s.watch.replace()
	return false
}

func (s *scrub) check(i int, now time.Time) (*Report, error) {
	s.watch.keeping.Lock()
	defer s.watch.keeping.Unlock()
	return s.unread.Check(i, now)
}
