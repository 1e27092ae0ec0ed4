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
	// spareTime is how long a program that is not called keeps its spare, and how long its calls
	// are remembered.
	spareTime = 30 * time.Second

	// maxSpares bounds the spares of one group. Each consists of two or three small processes.
	maxSpares = 8

	// maxStale is how many spares in a row may be useless: out of date, not built, or ended before
	// a call came. Then no more are built for that program: its boxes probably differ from call to
	// call.
	maxStale = 3
)

// spares holds boxes that were built ahead for programs that are started for each call. A spare has
// everything that a process has, including pipes and a mark, except the program. The program is
// started in it when a call comes. So no code of a plugin runs ahead, and plugins need not know
// about spares.
//
// There is at most one spare for each program. The first call does not build one, so that a command
// with a single call does not pay for it. From the second call on, each call orders the spare for
// the next one.
type spares struct {
	group  *Group
	ctx    context.Context // canceled by close
	cancel context.CancelFunc

	mu    sync.Mutex // protects the fields below
	slots map[spareKey]*slot
}

// A spareKey identifies the calls that may use the same spare. The box itself compares everything
// else.
type spareKey struct {
	box       Builder
	path, dir string
	limits    limits.Limits
}

// A slot holds the spare of one program and its history.
type slot struct {
	calls    int           // so far
	stale    int           // useless spares in a row: see maxStale
	ready    *Process      // nil if there is none
	building chan struct{} // closed when the building has ended; nil if none is being built
	used     time.Time     // the time of the last call
	expire   *time.Timer
}

func newSpares(g *Group) *spares {
	s := &spares{group: g, slots: make(map[spareKey]*slot)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// spareKey returns the key of the Spec, and whether there can be a spare for it.
func (s Spec) spareKey() (spareKey, bool) {
	box, ok := s.Box.(Builder)
	return spareKey{box, s.Path, s.Dir, s.Limits}, ok && len(s.Files) == 0
}

// startSpare starts the program in a spare. It returns nil without an error if there is no usable
// spare.
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
	return p, p.endFailed(ctx, s, c, err)
}

// replaceSpare has a spare built for the next call: when the returned function is called, or before
// that if the call takes longer than replaceAfter.
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

// begin connects a spare's stderr to the log of its call. drop uses it without a call.
func (p *Process) begin(s Spec) {
	p.stderr.log = s.Log
	go p.stderr.run(p.group)
	close(p.awaited)
}

// drop ends a spare.
func (p *Process) drop() {
	p.begin(Spec{})
	p.kill()
	p.release()
}

// take records a call and returns a spare, or nil. If a spare is being built, it waits, because a
// start without it would only compete with the building.
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
	return s.slots[key].takeReady()
}

// claim records a call. It returns the spare, or a channel that is closed when the building of one
// has ended, or neither.
func (s *spares) claim(key spareKey) (p *Process, coming <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil
	}
	at := s.slots[key]
	if at == nil {
		at = new(slot)
		at.expire = time.AfterFunc(spareTime, func() { s.expire(key) })
		s.slots[key] = at
	}
	at.calls++
	at.used = time.Now()
	at.expire.Reset(spareTime)
	return at.takeReady(), at.building
}

// takeReady takes the spare out of the slot. It asks the kernel whether the process is still
// running, and returns nil if not.
func (at *slot) takeReady() *Process {
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

// count records whether a spare was out of date or usable.
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

// order has a spare built in the background, if there should be one.
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

// makeRoom drops the spare that has been unused for the longest time if there are too many. It
// returns false if there is still no room.
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

// build builds a spare. It drops the error of a start that fails: the next call then starts a
// process itself, and returns the error if that fails too.
func (s *spares) build(key spareKey, spec Spec) {
	p, err := s.group.start(s.ctx, spec, startMode{perCall: true, ahead: true, onLeft: s.lost})
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	switch {
	case err != nil:
		if at != nil {
			at.stale++
		}
	case at == nil || p.hasLeft(): // closed meanwhile, or the process ended before lost could find it
		p.drop()
	default:
		at.ready = p
	}
	if at != nil {
		close(at.building)
		at.building = nil
	}
}

// lost is called for each spare that ends, including those that were used.
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

// expire forgets a program that was not called for some time.
func (s *spares) expire(key spareKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.slots[key]
	switch {
	case at == nil:
	case at.building != nil || time.Since(at.used) < spareTime:
		at.expire.Reset(spareTime)
	default:
		s.forget(key)
	}
}

// forget drops the spare and the history of a program. The caller holds mu.
func (s *spares) forget(key spareKey) {
	at := s.slots[key]
	at.expire.Stop()
	if at.ready != nil {
		at.ready.drop()
	}
	delete(s.slots, key)
}

// close drops all spares and cancels those that are being built.
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

// Spares returns the number of boxes that were built ahead and are ready.
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
