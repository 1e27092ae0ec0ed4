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

// Bounds of the queue behind [Journal.Post]. A turn makes some dozens of events, a disk takes some
// hundreds a second one by one, and thousands together: what does not fit comes of an engine that
// is away.
const (
	maxQueued      = 4096     // events
	maxQueuedBytes = 32 << 20 // of their data: traces of large payloads are large
)

// postTimeout bounds the writing of one event from the queue: longer than the engine takes to move
// to another process.
const postTimeout = 10 * time.Second

// closeTimeout bounds how long [Journal.Close] lets the queue drain: as long as a person waits for
// a command to end.
const closeTimeout = 3 * time.Second

// A posting is an event on its way.
type posting struct {
	kind, session, turn string
	data                json.RawMessage
}

// A queue is what was posted and not written yet.
type queue struct {
	ctx     context.Context // ended when Close has no more patience
	cancel  context.CancelFunc
	drained chan struct{} // closed when the goroutine is gone
	dropped atomic.Uint64

	mu      sync.Mutex   // protects the fields below
	waiting chan posting // closed by Close; the goroutine takes from it
	events  int          // that are waiting or being written
	bytes   int          // of their data
	running bool         // the goroutine was started
	closed  bool
}

func newQueue() *queue {
	ctx, cancel := context.WithCancel(context.Background())
	return &queue{ctx: ctx, cancel: cancel, drained: make(chan struct{}), waiting: make(chan posting, maxQueued)}
}

// Post keeps an event some time soon, and never waits: where the queue is full, or closed, the
// event is dropped, counted, and false returned. The data is the journal's from then on.
func (j *Journal) Post(kind, sessionID string, data json.RawMessage) bool {
	return j.post(posting{kind: kind, session: sessionID, data: data})
}

// PostTurn is Post for an event that is to be found by its turn. The engine has an entry of its
// index in memory for each turn and kind: so not every event of a turn is worth it.
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

// enqueue queues an event, or says why it does not.
func (j *Journal) enqueue(p posting) error {
	q := j.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refusal(len(p.data)); err != nil {
		return err
	}
	q.waiting <- p // there is room, and nobody else sends: mu is held
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
	errFull   = fmt.Errorf("more than %d events or %d MiB wait: the engine does not take them", maxQueued, maxQueuedBytes>>20)
)

// refusal is why an event of so many bytes is not queued; nil: it is. The caller holds mu.
func (q *queue) refusal(size int) error {
	switch {
	case q.closed:
		return errClosed
	case q.bytes+size > maxQueuedBytes, q.events == maxQueued:
		return errFull
	}
	return nil
}

// Drop counts an event that is not kept, because of err. Whoever cannot even make an event for
// [Journal.Post] calls it. The first such event is logged, then the second, the fourth, the eighth
// …: an engine that is away costs many.
func (j *Journal) Drop(kind string, err error) {
	if n := j.queue.dropped.Add(1); n&(n-1) == 0 {
		j.log.Warn("event dropped", "kind", kind, "err", err, "total", n)
	}
}

// Dropped is how many events are not in the journal that should be.
func (j *Journal) Dropped() uint64 { return j.queue.dropped.Load() }

// Close takes no more posts and waits, within a bound, until those there are have been written. The
// error says how many were not. Everything else goes on working: the engine is not the journal's to
// close.
func (j *Journal) Close() error {
	q := j.queue
	defer q.cancel()
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.waiting)
	}
	running := q.running
	q.mu.Unlock()
	if !running {
		return nil
	}
	return q.wait()
}

// wait gives the goroutine its time. What it cannot write then fails at once, so that it ends.
func (q *queue) wait() error {
	before := q.dropped.Load()
	timer := time.AfterFunc(closeTimeout, q.cancel)
	defer timer.Stop()
	<-q.drained
	if n := q.dropped.Load() - before; n > 0 {
		return fmt.Errorf("journal: %d events were not kept: they were refused, or the engine did not take them within %v", n, closeTimeout)
	}
	return nil
}
