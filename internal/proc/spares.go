package proc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

const (
	// spareTime is how long a program that is not called keeps its spare, and how long a call is
	// remembered.
	spareTime = 30 * time.Second

	// maxSpares bounds those of one group: each is two or three small processes.
	maxSpares = 8

	// maxStale is how many spares in a row may be of no use. What differs from call to call is not
	// built ahead.
	maxStale = 3
)

// spares are boxes that were built ahead, for programs that are started for each call. A spare has
// everything that a process has, its pipes and its mark too, but for the program, which is started
// in it when a call comes. So nothing of a plugin runs ahead, and no plugin need know of it.
//
// There is at most one for each program. The first call orders none, so that a command with one
// call does not pay for another; each later one orders its own replacement.
type spares struct {
	group  *Group
	ctx    context.Context // ended by close
	cancel context.CancelFunc

	mu    sync.Mutex // protects the fields below
	slots map[spareKey]*slot
}

// spareKey is what calls have in common that may use each other's spare. What else must be alike is
// for the box to say.
type spareKey struct {
	box       Builder
	path, dir string
	limits    limits.Limits
}

// slot is what is known of one program.
type slot struct {
	calls    int           // so far
	stale    int           // spares in a row that were of no use
	ready    *Process      // nil: none
	building chan struct{} // closed when that has ended; nil: none is being built
	used     time.Time     // when it was last called
	lapse    *time.Timer
}

func newSpares(g *Group) *spares {
	s := &spares{group: g, slots: make(map[spareKey]*slot)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// spareKey is the Spec's, if there can be a spare for it.
func (s Spec) spareKey() (spareKey, bool) {
	box, ok := s.Box.(Builder)
	return spareKey{box, s.Path, s.Dir, s.Limits}, ok && len(s.Files) == 0
}

// startSpare starts the program in a spare. Nil without an error: there is none that could be used.
func (g *Group) startSpare(ctx context.Context, s Spec, c program.Command) (*Process, error) {
	key, ok := s.spareKey()
	if !ok {
		return nil, nil
	}
	p := g.spares.take(ctx, key)
	if p == nil {
		return nil, nil
	}
	inner := s
	inner.Limits = p.limits.Rest(s.Limits)
	l, err := g.launch(ctx, inner, c)
	if err == nil {
		err = p.packed.Start(ctx, l)
	}
	g.spares.count(key, errors.Is(err, ErrStale))
	if errors.Is(err, ErrStale) {
		p.drop()
		return nil, nil
	}
	p.begin(s)
	return p, p.judge(ctx, s, c, err)
}

// replaceSpare orders a spare for the next call: while a long one runs, or when the function it
// returns is called.
func (g *Group) replaceSpare(s Spec) func() {
	key, ok := s.spareKey()
	if !ok {
		return func() {}
	}
	order := func() { g.spares.order(key, s) }
	late := time.AfterFunc(replaceAfter, order)
	return func() {
		if late.Stop() {
			order()
		}
	}
}

// begin makes a spare the process of a call, or of nobody.
func (p *Process) begin(s Spec) {
	p.stderr.log = s.Log
	go p.stderr.run(p.group)
	close(p.heard)
}

// drop ends a spare.
func (p *Process) drop() {
	p.begin(Spec{})
	p.kill()
	p.release()
}

// take notes a call and hands out a spare. One that is being built is waited for: a start without
// it would only compete with it.
func (s *spares) take(ctx context.Context, key spareKey) *Process {
	p, coming := s.claim(key)
	if coming == nil {
		return p
	}
	select {
	case <-coming:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[key].hand()
}

// claim notes a call. It returns the spare, or a channel that is closed when one was built, or
// neither.
func (s *spares) claim(key spareKey) (p *Process, coming <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil
	}
	at := s.slots[key]
	if at == nil {
		at = new(slot)
		at.lapse = time.AfterFunc(spareTime, func() { s.lapse(key) })
		s.slots[key] = at
	}
	at.calls++
	at.used = time.Now()
	at.lapse.Reset(spareTime)
	return at.hand(), at.building
}

// hand empties the slot. Whether the process lives, the kernel is asked.
func (at *slot) hand() *Process {
	if at == nil || at.ready == nil {
		return nil
	}
	p := at.ready
	at.ready = nil
	if p.hasLeft() || hasExited(p.os) {
		p.drop()
		return nil
	}
	return p
}

// count notes whether a spare was of use.
func (s *spares) count(key spareKey, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	switch {
	case at == nil:
	case stale:
		at.stale++
	default:
		at.stale = 0
	}
}

// order has a spare built in the background, where one is to be.
func (s *spares) order(key spareKey, spec Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	if at == nil || at.calls < 2 || at.stale >= maxStale || at.ready != nil || at.building != nil || s.ctx.Err() != nil || !s.group.descriptors.Plenty() || !s.makeRoom() {
		return
	}
	at.building = make(chan struct{})
	go s.build(key, spec)
}

// makeRoom drops the spare that was not used for the longest time where there are too many.
func (s *spares) makeRoom() bool {
	count := 0
	var oldest *slot
	for _, at := range s.slots {
		if at.ready == nil && at.building == nil {
			continue
		}
		count++
		if at.ready != nil && (oldest == nil || at.used.Before(oldest.used)) {
			oldest = at
		}
	}
	if count < maxSpares {
		return true
	}
	if oldest == nil {
		return false
	}
	oldest.ready.drop()
	oldest.ready = nil
	return true
}

// build builds one. That it cannot be built is for a call to report, which then tries itself.
func (s *spares) build(key spareKey, spec Spec) {
	p, err := s.group.start(s.ctx, spec, birth{perCall: true, ahead: true, onLeft: s.lost})
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	switch {
	case err != nil:
		if at != nil {
			at.stale++
		}
	case at == nil || p.hasLeft(): // closed meanwhile, or it died, and lost has not found it
		p.drop()
	default:
		at.ready = p
	}
	if at != nil {
		close(at.building)
		at.building = nil
	}
}

// lost is told of each spare that ends, also of those that were used.
func (s *spares) lost(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.slots {
		if at.ready == p {
			at.ready = nil
			at.stale++
			p.drop()
		}
	}
}

// lapse forgets a program that was not called for some time.
func (s *spares) lapse(key spareKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	switch {
	case at == nil:
	case at.building != nil || time.Since(at.used) < spareTime:
		at.lapse.Reset(spareTime)
	default:
		s.forget(key)
	}
}

// forget drops what there is for a program. The caller holds mu.
func (s *spares) forget(key spareKey) {
	at := s.slots[key]
	at.lapse.Stop()
	if at.ready != nil {
		at.ready.drop()
	}
	delete(s.slots, key)
}

// close drops all of them, and has those that are being built end.
func (s *spares) close() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, at := range s.slots {
		building := at.building
		s.forget(key)
		if building != nil {
			close(building)
		}
	}
}

// Spares is how many boxes stand ready that were built ahead.
func (g *Group) Spares() int {
	g.spares.mu.Lock()
	defer g.spares.mu.Unlock()
	ready := 0
	for _, at := range g.spares.slots {
		if at.ready != nil {
			ready++
		}
	}
	return ready
}
