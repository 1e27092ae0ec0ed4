package proc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// replaceAfter is when the replacement for a process in a call is started while the call still
// runs. Earlier, the replacement would take processor time from the call. Later, a concurrent call
// would find no process.
const replaceAfter = 20 * time.Millisecond

// Standby is Run with processes started ahead. Each waits, blocked on its stdin, for the payload of
// one call, and is then replaced. Protocol and isolation are those of Run, without the wait for an
// interpreter to start.
type Standby struct {
	group  *Group
	spec   Spec
	ctx    context.Context // canceled by Close
	cancel context.CancelFunc
	wake   chan struct{} // signals that a process may be due; capacity 1
	ended  chan struct{} // closed when the goroutine stock has ended

	mu     sync.Mutex    // protects the fields below
	ready  []*Process    // the oldest first, which had the most time to start
	due    int           // processes to be started; len(ready), due, and the processes in a call without a replacement add up to n
	failed int           // processes in a row that ended while waiting, or did not start
	tried  chan struct{} // closed and replaced with each start
}

// Standby keeps n processes waiting for calls. They are started in the background. On a closed
// group the Standby is closed from the beginning.
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

// Run is [Group.Run] on a process that is already waiting, or on a new one if none is.
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
		select { // it is about to start; a cold start would only compete with it
		case <-coming:
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
	}
}

// use makes the call and has the process replaced once.
func (s *Standby) use(ctx context.Context, p *Process, c Call) (*Result, error) {
	late := time.AfterFunc(replaceAfter, s.replace)
	result, err := p.call(ctx, c)
	if late.Stop() {
		s.replace()
	}
	return result, err
}

// Close kills the waiting processes and returns when they have ended. It does not affect running
// calls.
func (s *Standby) Close() error {
	s.cancel()
	<-s.ended
	return nil
}

// stock runs on its own goroutine and starts the processes that are due, with growing pauses while
// that fails.
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

// await waits for a nudge, for the end of a pause, or for Close. nudge and pause may be nil.
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

// add starts one process. It drops the error of a start that fails: the next Run then starts a
// process itself, and returns the error if that fails too.
func (s *Standby) add() {
	p, err := s.group.start(s.ctx, s.spec, startMode{perCall: true, onLeft: s.lost})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.failed++
	case p.hasLeft(): // it ended before lost could find it
		s.failed++
		p.release()
	default:
		s.ready = append(s.ready, p)
		s.due--
	}
	close(s.tried)
	s.tried = make(chan struct{})
}

// take returns the oldest process that is running. It asks the kernel which ones are: if one has
// ended, its call would look like a plugin that did not answer. If none is running but one is about
// to start, take returns a channel that is closed when it has started or failed to.
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
		s.recordLost(p)
	}
	if s.due > 0 && s.failed == 0 {
		return nil, s.tried
	}
	return nil, nil
}

// lost is called for each process that ends. If it was still waiting, it has to be replaced.
func (s *Standby) lost(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.ready, p); i >= 0 { // otherwise it was handed out
		s.ready = slices.Delete(s.ready, i, i+1)
		s.recordLost(p)
	}
}

// recordLost records that a process ended while waiting. The caller holds mu.
func (s *Standby) recordLost(p *Process) {
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

// nudge makes the goroutine stock look again.
func (s *Standby) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it is already signalled
	}
}

// clear ends the processes that are still waiting.
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
