package broker

import (
	"sync"
	"time"
)

// perSecond is how many denials, and how many log lines, one plugin can cause in a second. A person
// reads fewer, a journal bears more.
const perSecond = 20

// A limiter lets perSecond things through each second, and counts the others.
type limiter struct {
	mu      sync.Mutex // protects the fields below
	began   time.Time  // the present second
	passed  int        // in it
	dropped int        // since one last passed
}

// allow reports whether one more may pass now, and if so how many were dropped before it.
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

// drop counts something that was allowed and yet did not pass, with those it was to account for.
func (l *limiter) drop(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped += n
}

// pending is how many were dropped since one last passed.
func (l *limiter) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// listenTime is how long a refusal waits for its denial to be told, so that it is known by when the
// plugin can speak of it.
const listenTime = 50 * time.Millisecond

// denials carries denials from the connections to the one who wants to know, and lets no connection
// wait for him for long.
type denials struct {
	report func(Denial) // may be nil
	limit  limiter
	queue  chan telling  // read by the goroutine of run alone; closed once nobody sends any more
	start  sync.Once     // of that goroutine, with the first denial
	end    sync.Once     // of it
	done   chan struct{} // closed when it has ended, or will never be
}

// telling is a denial on its way.
type telling struct {
	Denial
	told chan struct{} // closed when it has arrived
}

func newDenials(report func(Denial)) *denials {
	return &denials{report: report, queue: make(chan telling, perSecond), done: make(chan struct{})}
}

// add passes d on and waits a moment for that, or counts it where there are too many or the last
// ones are not yet dealt with.
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
	t := telling{d, make(chan struct{})}
	select {
	case n.queue <- t:
	default:
		n.limit.drop(dropped + 1)
		return
	}
	select {
	case <-t.told:
	case <-time.After(listenTime):
	}
}

func (n *denials) run() {
	defer close(n.done)
	for t := range n.queue {
		n.report(t.Denial)
		close(t.told)
	}
	if dropped := n.limit.pending(); dropped > 0 {
		n.report(Denial{What: "further attempts, too many to be told one by one", Dropped: dropped})
	}
}

// close waits until the last denial is reported. Nobody may add any more.
func (n *denials) close() {
	n.end.Do(func() {
		n.start.Do(func() { close(n.done) })
		close(n.queue)
	})
	<-n.done
}
