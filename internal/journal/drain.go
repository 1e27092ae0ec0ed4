package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// What is written from the queue at once. The engine syncs every write, which is what takes the
// time. Several events together take as long as some ten of them one by one: fewer are not worth
// it.
const (
	fewestTogether    = 16
	mostTogether      = 256
	mostTogetherBytes = 1 << 20 // of their data; the last one may exceed it
)

// gatherFor is how long events are gathered before they are written, where the last ones were
// written together: so many come that it is worth it. Whatever their number, the server makes some
// 25 calls to the file system for them, six of which are synced. Where few events come, each is
// written at once.
const gatherFor = 50 * time.Millisecond

// drain writes what was posted, in its order, until Close.
func (j *Journal) drain() {
	defer close(j.queue.drained)
	told, gather := uint64(0), time.Duration(0)
	for {
		postings := j.queue.take(gather)
		if len(postings) == 0 {
			return
		}
		if gather = 0; len(postings) >= fewestTogether {
			gather = gatherFor
		}
		kept := j.keep(j.entries(postings))
		j.queue.done(postings)
		if kept {
			told = j.tellDropped(told)
		}
	}
}

// droppedKind is the event that says how many events are missing before it.
const droppedKind = "events.dropped"

// tellDropped keeps an event about those that were dropped since it last did, for who reads the
// journal alone. It returns how many have been told of. What it cannot tell now, it tells with
// those that come.
func (j *Journal) tellDropped(told uint64) uint64 {
	total := j.Dropped()
	if total == told {
		return told
	}
	e, err := newEntry(posting{kind: droppedKind, data: fmt.Appendf(nil, `{"count":%d,"total":%d}`, total-told, total)})
	if err == nil {
		err = j.alone(e)
	}
	if err != nil {
		j.log.Debug("journal: that events were dropped could not be kept", "total", total, "err", err)
		return told
	}
	return total
}

// take waits for something to write, and then for more, for so long. It takes what there is, up to
// a bound. Nothing: the queue is closed and empty.
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
	for len(postings) < mostTogether && size < mostTogetherBytes {
		if p, ok = q.next(enough); !ok {
			break
		}
		postings, size = append(postings, p), size+len(p.data)
	}
	return postings
}

// next is the next posting; not ok: there is none, or none until enough, where that is not nil.
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

// done makes room for others.
func (q *queue) done(postings []posting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events -= len(postings)
	for _, p := range postings {
		q.bytes -= len(p.data)
	}
}

// entries is what can be kept. What cannot be is dropped.
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

// keep writes events, and tells whether it could write them all. Together they are written or not,
// and not tried again: one by one each gets its time, and those that were written nevertheless are
// known by their ids.
func (j *Journal) keep(entries []entry) bool {
	if len(entries) >= fewestTogether {
		err := j.together(entries)
		if err == nil {
			return true
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			j.log.Debug("journal: events are written one by one", "events", len(entries), "err", err)
		}
	}
	kept := true
	for _, e := range entries {
		if err := j.alone(e); err != nil {
			j.Drop(e.kind, err)
			kept = false
		}
	}
	return kept
}

func (j *Journal) together(entries []entry) error {
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

func (j *Journal) alone(e entry) error {
	ctx, cancel := context.WithTimeout(j.queue.ctx, postTimeout)
	defer cancel()
	_, err := j.append(ctx, e)
	return err
}
