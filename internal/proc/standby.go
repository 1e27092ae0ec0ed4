package proc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// replaceAfter is when a call that is still running gets its replacement started beside it. Before
// that the replacement would take the processor from the call itself; after it the next call, which
// may come at the same time, would find nobody.
const replaceAfter = 20 * time.Millisecond

// Standby is Run with processes started ahead. Each waits, blocked on its stdin, for the payload of
// one call, and is replaced after it: the same protocol and the same isolation as Run, without the
// wait for an interpreter to boot.
type Standby struct {
	group  *Group
	spec   Spec
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wake   chan struct{} // something may be due; capacity 1
	ended  chan struct{} // closed when the stocking goroutine is gone

	mu     sync.Mutex    // protects the fields below
	ready  []*Process    // the oldest first: it has had the most time to boot
	due    int           // to be started; n are ready, due, or handed out and not yet to be replaced
	failed int           // processes in a row that died waiting, or did not start
	tried  chan struct{} // closed, and made anew, with each start
}

// Standby keeps n processes waiting for calls. The first ones start in the background. On a closed
// group it is born closed.
func (g *Group) Standby(s Spec, n int) *Standby {
	ctx, cancel := context.WithCancel(context.Background())
	sb := &Standby{
		group: g, spec: s, due: n,
		ctx: ctx, cancel: cancel,
		wake:  make(chan struct{}, 1),
		ended: make(chan struct{}),
		tried: make(chan struct{}),
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
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.ctx.Err() != nil {
			return nil, ErrClosed
		}
		p, coming := s.take()
		if p != nil {
			return s.use(ctx, p, c)
		}
		if coming == nil {
			return s.group.Run(ctx, s.spec, c)
		}
		select { // it is a fork away: a cold start would only compete with it
		case <-coming:
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
	}
}

// use makes the call, and has the process replaced once.
func (s *Standby) use(ctx context.Context, p *Process, c Call) (*Result, error) {
	late := time.AfterFunc(replaceAfter, s.replace)
	result, err := p.call(ctx, c)
	if late.Stop() {
		s.replace()
	}
	return result, err
}

// Close kills the waiting processes and returns when they are gone. Calls under way are not
// disturbed.
func (s *Standby) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

// stock is the goroutine that starts what is due, with growing pauses while that fails.
func (s *Standby) stock() {
	defer close(s.ended)
	defer s.clear()
	for s.ctx.Err() == nil {
		due, failed := s.state()
		switch {
		case !due:
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

func (s *Standby) state() (due bool, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.due > 0, s.failed
}

// add starts one. That it does not start is for Run to report, which then tries itself.
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
		s.due--
	}
	close(s.tried)
	s.tried = make(chan struct{})
}

// take hands out the oldest process that is alive. Whether it is, the kernel is asked: one that
// died before the payload was offered must not be blamed for not answering. Where there is none but
// one is about to be, take returns a channel that is closed then.
func (s *Standby) take() (p *Process, coming <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 {
		p := s.ready[0]
		s.ready = slices.Delete(s.ready, 0, 1)
		if !p.hasLeft() && !hasExited(p.os) {
			s.failed = 0
			return p, nil
		}
		s.miss(p)
	}
	if s.due > 0 && s.failed == 0 {
		return nil, s.tried
	}
	return nil, nil
}

// lost is told of each process that ends. One that was still waiting is missed.
func (s *Standby) lost(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.ready, p); i >= 0 { // else it was handed out
		s.ready = slices.Delete(s.ready, i, i+1)
		s.miss(p)
	}
}

// miss notes that a process died waiting. The caller holds mu.
func (s *Standby) miss(p *Process) {
	s.failed++
	s.due++
	s.nudge()
	p.release()
}

// replace orders a process for one that was handed out.
func (s *Standby) replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due++
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
