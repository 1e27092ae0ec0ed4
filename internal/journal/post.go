package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the queue behind [Journal.Post]. A turn makes a few dozen events. A disk takes a few
// hundred single writes a second, and thousands of events in larger writes. So the queue is full
// only if the engine is not available.
const (
	maxQueued      = 4096     // events
	maxQueuedBytes = 32 << 20 // of their data: traces of large payloads are large
)

// postTimeout bounds the writing of one event from the queue. It is longer than the engine takes to
// move to another process.
const postTimeout = 10 * time.Second

// closeTimeout bounds how long [Journal.Close] waits for the queue: as long as a person waits for a
// command to end.
const closeTimeout = 3 * time.Second

// A posting is an event on its way to the store.
type posting struct {
	kind, session, turn string
	data                json.RawMessage
}

// A queue has the events that were posted and are not written yet.
type queue struct {
	ctx     context.Context // ends after closeTimeout in Close
	cancel  context.CancelFunc
	drained chan struct{} // closed when the goroutine has ended
	dropped atomic.Uint64

	mu      sync.Mutex   // protects the fields below
	waiting chan posting // closed by Close; the goroutine takes from it
	events  int          // events that wait or are being written
	bytes   int          // of their data
	running bool         // the goroutine was started
	closed  bool
}

func newQueue() *queue {
	ctx, cancel := context.WithCancel(context.Background())
	return &queue{ctx: ctx, cancel: cancel, drained: make(chan struct{}), waiting: make(chan posting, maxQueued)}
}

// Post queues an event to be stored, and never waits. If the queue is full or closed, Post drops
// and counts the event and returns false. The caller must not change data afterwards.
func (j *Journal) Post(kind, sessionID string, data json.RawMessage) bool {
	return j.post(posting{kind: kind, session: sessionID, data: data})
}

// PostTurn is like Post for an event that can be found by its turn. For each turn and kind the
// engine holds an index entry in memory, so only some events of a turn are posted this way.
func (j *Journal) PostTurn(kind, sessionID, turn string, data json.RawMessage) bool {
	return j.post(posting{kind: kind, session: sessionID, turn: turn, data: data})
}

func (j *Journal) post(p posting) bool {
	if err := j.enqueue(p); err != nil {
		j.Drop(p.kind, err)
		return false
	}
	return true
}

// enqueue queues an event, or returns why it cannot.
func (j *Journal) enqueue(p posting) error {
	q := j.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refusal(len(p.data)); err != nil {
		return err
	}
	q.waiting <- p // does not block: there is space, and all senders hold mu
	q.events++
	q.bytes += len(p.data)
	if !q.running {
		q.running = true
		go j.drain()
	}
	return nil
}

var (
	errClosed = errors.New("the journal is closed")
	errFull   = fmt.Errorf("more than %d events or %d MiB wait: the engine does not write them", maxQueued, maxQueuedBytes>>20)
)

// refusal returns why an event of size bytes cannot be queued, or nil. The caller holds mu.
func (q *queue) refusal(size int) error {
	switch {
	case q.closed:
		return errClosed
	case q.bytes+size > maxQueuedBytes, q.events == maxQueued:
		return errFull
	}
	return nil
}

// Drop counts an event that is not stored because of err. A caller that cannot make the event for
// [Journal.Post] calls it, too. Drop logs the first such event, the second, the fourth, the eighth
// and so on, since an unavailable engine drops many.
func (j *Journal) Drop(kind string, err error) {
	if n := j.queue.dropped.Add(1); n&(n-1) == 0 {
		j.log.Warn("event dropped", "kind", kind, "err", err, "total", n)
	}
}

// Dropped returns how many events were dropped.
func (j *Journal) Dropped() uint64 { return j.queue.dropped.Load() }

// Close accepts no more posts and waits, up to closeTimeout, until the queued events are written.
// The error says how many were not. Everything else still works: Close does not close the engine.
func (j *Journal) Close() error {
	q := j.queue
	defer q.cancel()
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.waiting)
	}
	running, before := q.running, q.dropped.Load()
	q.mu.Unlock()
	if !running {
		return nil
	}
	return q.wait(before)
}

// wait waits for the goroutine to end. After closeTimeout every further write fails at once, so
// that the goroutine ends. before is how many events were dropped until now. The error says how
// many were dropped since.
func (q *queue) wait(before uint64) error {
	timer := time.AfterFunc(closeTimeout, q.cancel)
	defer timer.Stop()
	<-q.drained
	if n := q.dropped.Load() - before; n > 0 {
		return fmt.Errorf("journal: %d events were not stored: they were refused, or the engine did not write them within %v", n, closeTimeout)
	}
	return nil
}
