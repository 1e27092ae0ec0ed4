package main

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

const (
	// longestReplay is how many events are read again at most: several times what a follower asks
	// the engine for at once.
	longestReplay = 1000
	// replayWithin bounds one replay.
	replayWithin = time.Minute
)

// A replayer reads stretches of the journal again.
type replayer struct {
	client *drive.Client
	ledger *ledger
	every  time.Duration // from the beginning of one to that of the next
}

func (r *replayer) replay(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		r.stretch(context.WithoutCancel(ctx))
		pause(ctx, r.every-time.Since(begin))
	}
}

// stretch reads again what lies behind a random id, up to the newest that is known, and wants every
// event that the followers have seen there, with the same data; those of sessions that are deleted
// may be missing.
func (r *replayer) stretch(ctx context.Context) {
	head := r.ledger.newest()
	if head < 2 {
		time.Sleep(10 * time.Millisecond)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	after := head - 1 - rand.Uint64N(min(head-1, longestReplay))
	next := after + 1
	err := r.client.Follow(ctx, &after, func(e drive.Event) error {
		if e.ID == 0 || e.ID < next {
			r.ledger.fault("replay differs", "after %d, at %d: event %d, %s", after, next, e.ID, e.Kind)
			return nil
		}
		for ; next < e.ID && next <= head; next++ {
			r.missing(after, next)
		}
		next = max(next, e.ID+1)
		r.same(e)
		if e.ID >= head {
			return drive.ErrEnough
		}
		return nil
	})
	if err != nil && !r.onlyDeleted(next, head) {
		r.ledger.fault("replay differs", "after %d, at %d of %d: %v", after, next, head, err)
	}
	r.ledger.replays.Add(1)
}

// same wants an event to be what the followers saw.
func (r *replayer) same(e drive.Event) {
	r.ledger.replayed.Add(1)
	if was, known := r.ledger.at(e.ID); known && was.sum != crc32.ChecksumIEEE([]byte(e.Data)) {
		r.ledger.fault("replay differs", "%d is not what the followers saw", e.ID)
	}
}

func (r *replayer) missing(after, id uint64) {
	if !r.ledger.excuse(id) {
		was, _ := r.ledger.at(id) // of no kind, where it is not remembered
		r.ledger.fault("replay differs", "after %d: %d (%s) was not sent", after, id, was.kind)
	}
}

// onlyDeleted tells whether all that a replay did not get is of deleted sessions: then nothing more
// comes, and it is right to wait.
func (r *replayer) onlyDeleted(next, head uint64) bool {
	for ; next <= head; next++ {
		if !r.ledger.excuse(next) {
			return false
		}
	}
	return true
}
