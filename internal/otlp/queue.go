package otlp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// The limits of queued spans. A span has about 500 bytes.
const (
	maxWaiting = 8192        // spans
	gatherFor  = time.Second // how long spans are collected before they are sent
	closeWait  = 3 * time.Second
)

// A Queue sends spans from its own goroutine. It is safe for concurrent use.
type Queue struct {
	client *Client
	log    *slog.Logger
	gather time.Duration
	ctx    context.Context // ends when Close stops waiting
	cancel context.CancelFunc
	soon   chan struct{} // has room for one signal: spans are queued
	closed chan struct{}
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // protects the fields below
	waiting []Span
	counts  Counts
	logged  uint64 // how many dropped spans the last log line reported
	closing bool
}

// Counts are the numbers of a queue's spans.
type Counts struct {
	Sent    uint64 `json:"sent" doc:"Spans that the collector accepted." example:"1024"`
	Dropped uint64 `json:"dropped" doc:"Spans that were lost, because the queue was full or the collector did not accept them." example:"0"`
	Error   string `json:"error,omitempty" doc:"The error of the last batch that was not accepted." example:"connection refused"`
}

// NewQueue starts the goroutine, which Close ends. The queue owns the client from then on.
func NewQueue(c *Client, log *slog.Logger) *Queue {
	c.patient = true
	ctx, cancel := context.WithCancel(context.Background())
	q := &Queue{client: c, log: log, gather: gatherFor, ctx: ctx, cancel: cancel, soon: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{})}
	go q.run()
	return q
}

// Offer queues spans. It never waits: if the queue is full, the spans are dropped and counted.
func (q *Queue) Offer(spans []Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closing:
		q.drop(len(spans), "the export has ended")
		return
	case len(q.waiting)+len(spans) > maxWaiting:
		q.drop(len(spans), "too many spans are waiting: the collector does not accept them fast enough")
		return
	}
	q.waiting = append(q.waiting, spans...)
	select {
	case q.soon <- struct{}{}:
	default:
	}
}

// drop counts spans that are not sent. It logs the first ones, and then each time their number has
// doubled. The caller holds mu.
func (q *Queue) drop(n int, why string) {
	q.counts.Dropped += uint64(n)
	q.counts.Error = why
	if q.counts.Dropped >= 2*q.logged {
		q.logged = q.counts.Dropped
		q.log.Warn("telemetry: spans were not exported", "dropped", q.counts.Dropped, "err", why)
	}
}

// Counts returns how many spans were sent and dropped.
func (q *Queue) Counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts
}

// run sends queued spans until Close, and then the remaining ones.
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
	_ = pause.For(ctx, q.gather) // if it is interrupted, the queued spans are sent
}

// send sends all queued spans.
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
		q.sendBatch(batch)
	}
}

func (q *Queue) sendBatch(batch []Span) {
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

// Close accepts no more spans, and waits until the queued ones are sent, but not longer than
// closeWait. The remaining ones are dropped and counted.
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
