package broker

import (
	"sync"
	"time"
)

// perSecond is how many denials, and how many log lines, one plugin can cause in a second. A person
// cannot read more, and a journal can store them.
const perSecond = 20

// A limiter lets perSecond events through each second and counts the others.
type limiter struct {
	mu      sync.Mutex // protects the fields below
	began   time.Time  // when the current second began
	passed  int        // events let through since then
	dropped int        // events dropped since one was last let through
}

// allow reports whether one more event may pass now, and if so how many were dropped before it.
func (l *limiter) allow(now time.Time) (ok bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.began) >= time.Second {
		l.began, l.passed = now, 0
	}
	if l.passed >= perSecond {
		l.dropped++
		return false, 0
	}
	dropped, l.dropped = l.dropped, 0
	l.passed++
	return true, dropped
}

// drop counts n more events as dropped: one that was allowed but did not pass, and those dropped
// before it.
func (l *limiter) drop(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped += n
}

// pending returns how many events were dropped since one last passed.
func (l *limiter) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// reportTime is how long a refusal waits for its denial to be reported, so that it is reported
// before the plugin can mention it.
const reportTime = 50 * time.Millisecond

// denials passes denials from the connections to the report function. A connection waits for that
// only for a short time.
type denials struct {
	report func(Denial) // may be nil
	limit  limiter
	queue  chan queuedDenial // read only by run; closed when nothing more is sent
	start  sync.Once         // starts run with the first denial
	end    sync.Once         // ends it
	done   chan struct{}     // closed when run has returned, or will never start
}

// A queuedDenial is a denial that waits to be reported.
type queuedDenial struct {
	Denial
	reported chan struct{} // closed when it was reported
}

func newDenials(report func(Denial)) *denials {
	return &denials{report: report, queue: make(chan queuedDenial, perSecond), done: make(chan struct{})}
}

// add queues d and waits a moment for its report. If there are too many denials, or the queue is
// full, it only counts d.
func (n *denials) add(d Denial) {
	if n.report == nil {
		return
	}
	ok, dropped := n.limit.allow(time.Now())
	if !ok {
		return
	}
	n.start.Do(func() { go n.run() })
	d.Dropped = dropped
	t := queuedDenial{d, make(chan struct{})}
	select {
	case n.queue <- t:
	default:
		n.limit.drop(dropped + 1)
		return
	}
	select {
	case <-t.reported:
	case <-time.After(reportTime):
	}
}

func (n *denials) run() {
	defer close(n.done)
	for t := range n.queue {
		n.report(t.Denial)
		close(t.reported)
	}
	if dropped := n.limit.pending(); dropped > 0 {
		n.report(Denial{What: "further attempts, too many to be reported one by one", Dropped: dropped})
	}
}

// close waits until the last denial is reported. add must not be called afterwards.
func (n *denials) close() {
	n.end.Do(func() {
		n.start.Do(func() { close(n.done) })
		close(n.queue)
	})
	<-n.done
}
