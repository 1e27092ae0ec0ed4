package proc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// replaceAfter is when a call that is still running gets its replacement started beside it. Before that the replacement
// would take the processor from the call itself; after it the next call, which may come at the same time, would find nobody.
const replaceAfter = 20 * time.Millisecond

// Standby is Run with processes started ahead. Each waits, blocked on its stdin, for the payload of one call, and
// is replaced after it: the same protocol and the same isolation as Run, without the wait for an interpreter to boot.
type Standby struct {
	group  *Group
	spec   Spec
	n      int
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wake   chan struct{} // the stock may be short; capacity 1
	ended  chan struct{} // closed when the stocking goroutine is gone

	mu     sync.Mutex // protects the fields below
	ready  []*Process // the oldest first: it has had the most time to boot
	failed int        // processes in a row that died waiting, or did not start
}

// Standby keeps n processes waiting for calls. The first ones start in the background. On a closed group it is born
// closed.
func (g *Group) Standby(s Spec, n int) *Standby {
	ctx, cancel := context.WithCancel(context.Background())
	sb := &Standby{
		group: g, spec: s, n: n,
		ctx: ctx, cancel: cancel,
		wake:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		cancel()
	}
	g.standbys[sb] = struct{}{}
	go sb.stock()
	return sb
}

// Run is [Group.Run] on a process that waits already, or on a new one where none does.
func (s *Standby) Run(ctx context.Context, c Call) (*Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.ctx.Err() != nil {
		return nil, ErrClosed
	}
	p := s.take()
	if p == nil {
		s.nudge()
		return s.group.Run(ctx, s.spec, c)
	}
	late := time.AfterFunc(replaceAfter, s.nudge)
	defer s.nudge()
	defer late.Stop()
	return p.call(ctx, c)
}

// Close kills the waiting processes and returns when they are gone. Calls under way are not disturbed.
func (s *Standby) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

// stock is the goroutine that keeps the stock full, with growing pauses while that fails.
func (s *Standby) stock() {
	defer close(s.ended)
	defer s.clear()
	for s.ctx.Err() == nil {
		short, failed := s.state()
		switch {
		case !short:
			s.await(s.wake, nil)
		case failed > 0:
			s.await(nil, time.After(Backoff{}.after(failed)))
			s.add()
		default:
			s.add()
		}
	}
}

// await waits for a nudge or for the end of a pause, whichever is given, or for Close.
func (s *Standby) await(nudge <-chan struct{}, pause <-chan time.Time) {
	select {
	case <-s.ctx.Done():
	case <-nudge:
	case <-pause:
	}
}

func (s *Standby) state() (short bool, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready) < s.n, s.failed
}

// add starts one more. That it does not start is for Run to report, which then tries itself.
func (s *Standby) add() {
	p, err := s.group.start(s.ctx, s.spec, birth{perCall: true, onLeft: s.lost})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.failed++
	case p.hasLeft(): // already; lost has not found it
		s.failed++
		p.release()
	default:
		s.ready = append(s.ready, p)
	}
}

// take hands out the oldest process that is alive. Whether it is, the kernel is asked: one that died before the payload
// was offered must not be blamed for not answering.
func (s *Standby) take() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 {
		p := s.ready[0]
		s.ready = slices.Delete(s.ready, 0, 1)
		if !p.hasLeft() && !hasExited(p.os) {
			s.failed = 0
			return p
		}
		s.failed++
		p.release()
	}
	return nil
}

// lost is told of each process that ends. One that was still waiting is missed.
func (s *Standby) lost(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.ready, p)
	if i < 0 {
		return // handed out
	}
	s.ready = slices.Delete(s.ready, i, i+1)
	s.failed++
	p.release()
	s.nudge()
}

// nudge makes the stocking goroutine look again.
func (s *Standby) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will
	}
}

// clear ends what is still waiting.
func (s *Standby) clear() {
	s.mu.Lock()
	ready := s.ready
	s.ready = nil
	s.mu.Unlock()
	for _, p := range ready {
		p.kill()
	}
	for _, p := range ready {
		p.awaitEnd()
		p.release()
	}
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	delete(s.group.standbys, s)
}
