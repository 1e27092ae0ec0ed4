package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// How many events are written at once. The engine syncs every write, which takes most of the time.
// One write of many events takes as long as about ten single writes. So fewer than minTogether
// events are written one by one.
const (
	minTogether      = 16
	maxTogether      = 256
	maxTogetherBytes = 1 << 20 // of their data; the last event may exceed it
)

// gatherFor is how long events are collected before the next write if the last write was of many
// events. A write of any number of events makes the server do about 25 calls to the file system,
// six of which are synced. If few events come, each is written at once.
const gatherFor = 50 * time.Millisecond

// drain writes posted events in order until Close.
func (j *Journal) drain() {
	defer close(j.queue.drained)
	told, gather := uint64(0), time.Duration(0)
	for {
		postings := j.queue.take(gather)
		if len(postings) == 0 {
			return
		}
		if gather = 0; len(postings) >= minTogether {
			gather = gatherFor
		}
		kept := j.writeAll(j.entries(postings))
		j.queue.done(postings)
		if kept {
			told = j.recordDropped(told)
		}
	}
}

// droppedKind is the kind of the event that says how many events are missing before it.
const droppedKind = "events.dropped"

// recordDropped writes an event for readers of the journal, with the number of events that were
// dropped since the last such event. It returns the number that has been reported so far. If it
// cannot write, the next call reports them.
func (j *Journal) recordDropped(told uint64) uint64 {
	total := j.Dropped()
	if total == told {
		return told
	}
	e, err := newEntry(posting{kind: droppedKind, data: fmt.Appendf(nil, `{"count":%d,"total":%d}`, total-told, total)})
	if err == nil {
		err = j.writeOne(e)
	}
	if err != nil {
		j.log.Debug("journal: cannot record that events were dropped", "total", total, "err", err)
		return told
	}
	return total
}

// take waits for an event, and then for more as long as gather says. It returns the events that
// have come, up to a bound. It returns none if the queue is closed and empty.
func (q *queue) take(gather time.Duration) []posting {
	p, ok := <-q.waiting
	if !ok {
		return nil
	}
	var enough <-chan time.Time
	if gather > 0 {
		enough = time.After(gather)
	}
	postings, size := []posting{p}, len(p.data)
	for len(postings) < maxTogether && size < maxTogetherBytes {
		if p, ok = q.next(enough); !ok {
			break
		}
		postings, size = append(postings, p), size+len(p.data)
	}
	return postings
}

// next returns the next event if one is waiting. If enough is not nil, it waits for one until
// enough fires.
func (q *queue) next(enough <-chan time.Time) (p posting, ok bool) {
	select {
	case p, ok = <-q.waiting:
		return p, ok
	default:
	}
	if enough == nil {
		return posting{}, false
	}
	select {
	case p, ok = <-q.waiting:
		return p, ok
	case <-enough:
		return posting{}, false
	}
}

// done frees the space of written events in the queue.
func (q *queue) done(postings []posting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events -= len(postings)
	for _, p := range postings {
		q.bytes -= len(p.data)
	}
}

// entries encodes events, and drops those that cannot be encoded.
func (j *Journal) entries(postings []posting) []entry {
	entries := make([]entry, 0, len(postings))
	for _, p := range postings {
		e, err := newEntry(p)
		if err != nil {
			j.Drop(p.kind, err)
			continue
		}
		entries = append(entries, e)
	}
	return entries
}

// writeAll writes events, and reports whether all were written. It first tries to write them
// together, which succeeds or fails as a whole. If that fails, it writes them one by one, each with
// its own timeout. Events that the first try did write are recognized by their ids.
func (j *Journal) writeAll(entries []entry) bool {
	if len(entries) >= minTogether {
		err := j.writeTogether(entries)
		if err == nil {
			return true
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			j.log.Debug("journal: cannot write events together; writing them one by one", "events", len(entries), "err", err)
		}
	}
	kept := true
	for _, e := range entries {
		if err := j.writeOne(e); err != nil {
			j.Drop(e.kind, err)
			kept = false
		}
	}
	return kept
}

func (j *Journal) writeTogether(entries []entry) error {
	ctx, cancel := context.WithTimeout(j.queue.ctx, postTimeout)
	defer cancel()
	stream, err := j.open(ctx)
	if err != nil {
		return err
	}
	records := make([]engine.Append, len(entries))
	for i, e := range entries {
		records[i] = e.record
	}
	return stream.AppendAll(ctx, records)
}

func (j *Journal) writeOne(e entry) error {
	ctx, cancel := context.WithTimeout(j.queue.ctx, postTimeout)
	defer cancel()
	_, err := j.append(ctx, e)
	return err
}
