package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// Bounds of what waits to be sent. A span has some 500 bytes.
const (
	maxWaiting = 8192        // spans
	gatherFor  = time.Second // spans are gathered before they are sent
	closeWait  = 3 * time.Second
)

// A Queue sends spans as they come, from a goroutine of its own. It is safe for concurrent use.
type Queue struct {
	client *Client
	log    *slog.Logger
	gather time.Duration
	ctx    context.Context // ended when Close has no more patience
	cancel context.CancelFunc
	soon   chan struct{} // has room for one: something waits
	closed chan struct{}
	done   chan struct{} // closed when the goroutine is gone

	mu      sync.Mutex // protects the fields below
	waiting []Span
	counts  Counts
	closing bool
}

// Counts are what a queue has done.
type Counts struct {
	Sent    uint64 `json:"sent"`
	Dropped uint64 `json:"dropped"`         // there was no room, or the collector did not take them
	Error   string `json:"error,omitempty"` // of the last batch that was not taken; "": the last one was
}

// NewQueue starts the goroutine. Close ends it. The client is the queue's from then on.
func NewQueue(c *Client, log *slog.Logger) *Queue {
	c.patient = true
	ctx, cancel := context.WithCancel(context.Background())
	q := &Queue{client: c, log: log, gather: gatherFor, ctx: ctx, cancel: cancel, soon: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
	go q.run()
	return q
}

// Offer takes spans to be sent, and never waits: where there is no room they are dropped and
// counted.
func (q *Queue) Offer(spans []Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing || len(q.waiting)+len(spans) > maxWaiting {
		q.drop(len(spans), "more spans wait than can be kept: the collector does not take them")
		return
	}
	q.waiting = append(q.waiting, spans...)
	select {
	case q.soon <- struct{}{}:
	default:
	}
}

// drop counts spans that are not sent, and tells of the first, then whenever their number has
// doubled. The caller holds mu.
func (q *Queue) drop(n int, why string) {
	before := q.counts.Dropped
	q.counts.Dropped += uint64(n)
	q.counts.Error = why
	if before == 0 || q.counts.Dropped/2 >= before {
		q.log.Warn("telemetry: spans were not exported", "dropped", q.counts.Dropped, "err", why)
	}
}

// Counts tells what was sent and what was not.
func (q *Queue) Counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts
}

// run sends what waits until Close, and then what is left.
func (q *Queue) run() {
	defer close(q.done)
	for {
		select {
		case <-q.soon:
			q.gatherMore()
		case <-q.closed:
			q.send()
			return
		}
		q.send()
	}
}

// gatherMore waits a moment for more spans.
func (q *Queue) gatherMore() {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	go func() {
		select {
		case <-q.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = pause.For(ctx, q.gather) // one that is cut short sends what there is
}

// send sends all that waits.
func (q *Queue) send() {
	for {
		q.mu.Lock()
		n := min(len(q.waiting), maxBatch)
		batch := q.waiting[:n:n]
		q.waiting = q.waiting[n:]
		q.mu.Unlock()
		if n == 0 {
			return
		}
		q.settle(batch)
	}
}

func (q *Queue) settle(batch []Span) {
	sent, err := q.client.Send(q.ctx, batch)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts.Sent += uint64(sent.Spans)
	switch {
	case err != nil:
		q.drop(len(batch)-sent.Spans, err.Error())
	case sent.Rejected > 0:
		q.drop(sent.Rejected, "the collector refused them: "+sent.Message)
	default:
		q.counts.Error = ""
	}
}

// Close takes no more spans, and gives those that wait a moment to be sent.
func (q *Queue) Close() {
	q.mu.Lock()
	again := q.closing
	q.closing = true
	q.mu.Unlock()
	if again {
		return
	}
	close(q.closed)
	timer := time.AfterFunc(closeWait, q.cancel)
	defer timer.Stop()
	<-q.done
	q.cancel()
}
