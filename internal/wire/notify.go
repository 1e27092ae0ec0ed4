package wire

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	maxQueued   = 256         // notifications that wait for OnNotify
	reportEvery = time.Second // how often OnDropped is called at most
)

// A notifier passes a plugin's notifications to OnNotify, in order and at a bounded rate. It never
// delays the goroutine that reads: surplus notifications are dropped there, before anything is
// copied.
type notifier struct {
	onNotify  func(method string, params json.RawMessage)
	onDropped func(n int)
	window    window            // used only by the reading goroutine
	maxBytes  int64             // of params that may wait
	queue     chan notification // closed by the reading goroutine when it ends
	bytes     atomic.Int64      // of params in the queue
	dropped   atomic.Int64      // since the last report
	anyLost   chan struct{}     // of capacity 1; has a value if dropped is not 0
	stopped   chan struct{}     // closed when OnNotify must not be called any more
	once      sync.Once         // closes stopped once
	added     atomic.Int64      // how many were queued
	handed    progress          // how many of them were passed on
}

type notification struct {
	method string
	params json.RawMessage
}

func newNotifier(o PeerOptions) *notifier {
	return &notifier{
		onNotify:  o.OnNotify,
		onDropped: o.OnDropped,
		window:    newWindow(o.NotifyRate),
		maxBytes:  2 * int64(o.maxReceive()),
		queue:     make(chan notification, maxQueued),
		anyLost:   make(chan struct{}, 1),
		stopped:   make(chan struct{}),
	}
}

// add queues a notification, or drops it. Only the reading goroutine calls it.
func (n *notifier) add(m *message, in *Reader) {
	size := int64(m.params.End - m.params.Start)
	if len(n.queue) == maxQueued || n.bytes.Load()+size > n.maxBytes || !n.window.take(time.Now()) {
		n.dropped.Add(1)
		select {
		case n.anyLost <- struct{}{}:
		default:
		}
		return
	}
	method, _ := rawjson.Unquote(m.raw(m.method))
	params := m.own(in, m.params)
	n.bytes.Add(int64(len(params))) // the size that hand subtracts; cleaning may have changed it
	n.added.Add(1)
	n.queue <- notification{method, params} // does not block: only this goroutine adds
}

// awaitQueued waits until every notification that is queued now has been passed on.
func (n *notifier) awaitQueued(ctx context.Context) {
	for target := n.added.Load(); ; {
		done, more := n.handed.since()
		if done >= target {
			return
		}
		select {
		case <-more:
		case <-n.stopped:
			return
		case <-ctx.Done():
			return
		}
	}
}

// A progress is a counter that goroutines can wait for.
type progress struct {
	mu   sync.Mutex // protects the fields below
	done int64
	more chan struct{} // closed, and replaced, when the counter grows; nil: there is no waiter
}

func (p *progress) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.more != nil {
		close(p.more)
		p.more = nil
	}
}

// since returns the counter, and a channel that is closed when it grows.
func (p *progress) since() (int64, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.more == nil {
		p.more = make(chan struct{})
	}
	return p.done, p.more
}

// end closes the queue. Notifications in it are still passed on.
func (n *notifier) end() { close(n.queue) }

// stop makes the notifying goroutine end at once.
func (n *notifier) stop() { n.once.Do(func() { close(n.stopped) }) }

// run is the notifying goroutine.
func (n *notifier) run() {
	report := time.NewTimer(0)
	<-report.C
	defer report.Stop()
	anyLost := n.anyLost // nil while the next report has to wait
	for {
		select {
		case <-n.stopped:
			return
		case next, ok := <-n.queue:
			if !ok {
				n.report()
				return
			}
			n.hand(next)
		case <-anyLost:
			n.report()
			anyLost = nil
			report.Reset(reportEvery)
		case <-report.C:
			anyLost = n.anyLost
		}
	}
}

func (n *notifier) hand(next notification) {
	select {
	case <-n.stopped: // select chooses at random, so it may have taken one from the queue although it was stopped
		return
	default:
	}
	n.onNotify(next.method, next.params)
	n.handed.add()
	n.bytes.Add(-int64(len(next.params)))
}

func (n *notifier) report() {
	if dropped := n.dropped.Swap(0); dropped > 0 && n.onDropped != nil {
		n.onDropped(int(dropped))
	}
}

// A window lets at most a fixed number of events pass in any second. It remembers when the last
// ones passed; another may pass once the oldest of these is a second old. A token bucket would let
// twice as many pass in the second after a silence.
type window struct {
	passed []time.Time // a ring of the last times; nil: unlimited
	next   int         // the oldest of them, and where the next is put
}

func newWindow(rate int) window {
	if rate <= 0 {
		return window{}
	}
	return window{passed: make([]time.Time, rate)}
}

func (w *window) take(now time.Time) bool {
	if w.passed == nil {
		return true
	}
	if oldest := w.passed[w.next]; !oldest.IsZero() && now.Sub(oldest) < time.Second {
		return false
	}
	w.passed[w.next] = now
	w.next = (w.next + 1) % len(w.passed)
	return true
}
