package main

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

const (
	// longestReplay is how many events one replay reads at most. It is several times the number
	// that a follower requests from the engine at once.
	longestReplay = 1000
	// replayWithin limits the time of one replay.
	replayWithin = time.Minute
)

// A replayer reads stretches of the journal again.
type replayer struct {
	client *drive.Client
	ledger *ledger
	every  time.Duration // from the start of one replay to the start of the next
}

func (r *replayer) replay(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		r.stretch(context.WithoutCancel(ctx))
		pause(ctx, r.every-time.Since(begin))
	}
}

// stretch reads the events after a random id again, up to the newest known one. Every event that
// the followers have seen there must come, with the same data. Only events of deleted sessions may
// be missing.
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

// same counts a fault if an event differs from what the followers saw.
func (r *replayer) same(e drive.Event) {
	r.ledger.replayed.Add(1)
	if was, known := r.ledger.at(e.ID); known && was.sum != crc32.ChecksumIEEE([]byte(e.Data)) {
		r.ledger.fault("replay differs", "%d is not what the followers saw", e.ID)
	}
}

func (r *replayer) missing(after, id uint64) {
	if !r.ledger.excuse(id) {
		was, _ := r.ledger.at(id) // the kind is empty if the event is no longer stored
		r.ledger.fault("replay differs", "after %d: %d (%s) was not sent", after, id, was.kind)
	}
}

// onlyDeleted reports whether all events that a replay did not get belong to deleted sessions. Then
// no event follows, and waiting in vain is not a fault.
func (r *replayer) onlyDeleted(next, head uint64) bool {
	for ; next <= head; next++ {
		if !r.ledger.excuse(next) {
			return false
		}
	}
	return true
}
