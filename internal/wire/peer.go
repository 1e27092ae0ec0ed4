package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// maxRequests bounds the requests of the plugin that are answered at the same time.
const maxRequests = 16

// PeerOptions are the options of a [Peer]. The zero value works.
//
// After [Peer.Close] has returned, none of these functions runs: Close waits for them, and so must
// not be called by them.
type PeerOptions struct {
	Options
	OnNotify   func(method string, params json.RawMessage) // in order, on a goroutine of its own; nil: a noise
	NotifyRate int                                         // notifications a second; 0: unlimited. The surplus is dropped before it is queued
	OnDropped  func(n int)                                 // notifications were dropped; told at most once a second, where OnNotify runs
	// OnRequest answers a request of the plugin, several at the same time; its context ends with
	// the connection. An [*RPCError] goes out as such. nil: -32601.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// OnGivenUp is told of a call that was given up because its context ended, for protocols with a
	// word for that. It is called on the caller's goroutine. nil: nobody is told.
	OnGivenUp func(id uint64, method string)
}

// Peer is a connection with many calls in flight, to a plugin that may send notifications and
// requests of its own. One goroutine reads; callers write themselves, and what several of them send
// at the same moment goes out in one write.
type Peer struct {
	opts     PeerOptions
	r, w     *os.File
	in       *Reader        // owned by the reading goroutine
	lost     bool           // so is this: the line being discarded is over the cap, and whose reply it was is not known yet
	notes    *notifier      // nil where nobody listens
	requests chan struct{}  // holds a token for each request being answered
	out      outbox         //
	slots    sync.Pool      // of *slot
	work     sync.WaitGroup // every goroutine of the connection
	ctx      context.Context
	cancel   context.CancelFunc // of ctx: the connection has ended

	mu      sync.Mutex       // protects the fields below
	pending map[uint64]*slot // calls under way, by id
	last    uint64           // the last id issued; ids count from 1
	clock   *time.Timer      // calls look, every firstWait while a patient call has not been told; nil until there was one
	ticking bool             // it is set
	round   uint64           // how often look was called
	given   forgotten        // calls given up without a reply
	err     error            // why the connection ended
}

// slot is where a call waits. It belongs to the call; whoever takes it out of pending must fill it,
// once.
type slot struct {
	filled chan bool // true: the reply is there; before that perhaps false: it is taking long. There is room for both
	result json.RawMessage
	err    error

	// Of a patient call, while it is in pending. Protected by Peer.mu.
	patient bool
	since   uint64 // the round in which it began
	told    bool   // that it is taking long
}

func (s *slot) fill(result json.RawMessage, err error) {
	s.result, s.err = result, err
	s.filled <- true
}

// NewPeer makes a connection of the two ends of a plugin's pipes, and starts to read r.
// [Peer.Close] ends it.
func NewPeer(r, w *os.File, o PeerOptions) *Peer {
	p := &Peer{opts: o, r: r, w: w, requests: make(chan struct{}, maxRequests), pending: map[uint64]*slot{}}
	p.in = NewReader(r, o.maxReceive())
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.slots.New = func() any { return &slot{filled: make(chan bool, 2)} }
	p.out.init(w, o.maxSend(), p)
	growPipe(r)
	growPipe(w)
	if o.OnNotify != nil {
		p.notes = newNotifier(o)
		p.work.Go(p.notes.run)
	}
	p.work.Go(p.read)
	return p
}

// Call sends a request and waits for its reply. params is a compact JSON object, nil is {}. The
// result is compact, valid UTF-8 and the caller's own. The errors are those of [Serial.Call], and
// [ErrBacklog].
//
// A reply over the cap fails its call at once, where its id is within the first 512 bytes or the
// last field of the line. Where it is not, nobody can know whose reply it was: it is a noise, and
// the call ends with its context.
//
// A call whose context has a deadline may notice 10 ms late that it was cancelled; see look. Its
// deadline it meets.
func (p *Peer) Call(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("calling %q: %w", method, err)
	}
	deadline, limited := ctx.Deadline()
	patient := limited && time.Until(deadline) > 2*firstWait
	id, s, crowd, err := p.register(patient)
	if err != nil {
		return nil, err
	}
	if err := p.out.request(method, params, id, crowd); err != nil {
		p.take(id) // where the connection has ended meanwhile, it is not there any more, and the slot is being filled
		return nil, err
	}
	return p.await(ctx, method, id, s)
}

// Notify sends a notification. It is on its way, or queued, when Notify returns.
func (p *Peer) Notify(ctx context.Context, method string, params []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("notifying %q: %w", method, err)
	}
	return p.out.notification(method, params)
}

// Settle waits until the notifications that came before the last reply have been handed to
// OnNotify, or ctx ends. A caller for whom the order of both matters calls it when [Peer.Call] has
// returned. OnNotify itself must not.
func (p *Peer) Settle(ctx context.Context) {
	if p.notes != nil {
		p.notes.settle(ctx)
	}
}

// register enters a new call. crowd says that it is not the only one.
func (p *Peer) register(patient bool) (id uint64, s *slot, crowd bool, err error) {
	s = p.slots.Get().(*slot)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, nil, false, p.err
	}
	s.patient, s.since, s.told = patient, p.round, false
	if patient && !p.ticking {
		p.tick()
	}
	p.last++
	p.pending[p.last] = s
	return p.last, s, len(p.pending) > 1, nil
}

// take removes a call from the pending ones; nil where it is not there.
func (p *Peer) take(id uint64) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.pending[id]
	delete(p.pending, id)
	return s
}

// tick has look called. The caller holds mu.
func (p *Peer) tick() {
	p.ticking = true
	if p.clock == nil {
		p.clock = time.AfterFunc(firstWait, p.look)
		return
	}
	p.clock.Reset(firstWait)
}

// look tells patient calls that have waited for firstWait, and twice that at most, that it is
// taking long. Until then they do not wait for their context: one with a deadline may have to set a
// timer for that, and to allocate a few times. One clock for all of them costs less than one for
// each, most of which are answered at once.
func (p *Peer) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round++
	p.ticking = false
	for _, s := range p.pending {
		switch {
		case !s.patient || s.told:
		case p.round-s.since < 2:
			p.ticking = true
		default:
			s.told = true
			s.filled <- false
		}
	}
	if p.ticking {
		p.tick()
	}
}

// await waits for the reply: a patient call first for that alone, and then, like any other, for its
// context as well.
func (p *Peer) await(ctx context.Context, method string, id uint64, s *slot) (json.RawMessage, error) {
	for filled := s.patient && <-s.filled; !filled; {
		select {
		case filled = <-s.filled:
		case <-ctx.Done():
			if p.giveUp(id) {
				p.slots.Put(s)
				if p.opts.OnGivenUp != nil {
					p.opts.OnGivenUp(id, method)
				}
				return nil, fmt.Errorf("no reply to %q: %w", method, ctx.Err())
			}
			filled = <-s.filled // the reply has come in the same moment
		}
	}
	result, err := s.result, s.err
	s.result, s.err = nil, nil
	p.slots.Put(s)
	return result, err
}

// giveUp forgets a call, and reports false where its reply is already there.
func (p *Peer) giveUp(id uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.pending[id]; !ok {
		return false
	}
	delete(p.pending, id)
	p.given.add(id)
	return true
}

// fail ends the connection, once: calls under way and later ones get the error.
func (p *Peer) fail(err error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	switch {
	case errors.Is(err, ErrClosed):
		p.err = err
	case errors.Is(err, io.EOF):
		p.err = fmt.Errorf("%w: plugin closed its output", ErrClosed)
	case isGone(err):
		p.err = fmt.Errorf("%w: plugin closed its input", ErrClosed)
	default:
		p.err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	err, pending := p.err, p.pending
	p.pending = nil // deleting from it is still fine, and nothing is added any more
	p.mu.Unlock()

	p.out.close(err)
	for _, s := range pending {
		s.fill(nil, err)
	}
	p.cancel()
}

// Done is closed when the connection has ended, by either side.
func (p *Peer) Done() <-chan struct{} { return p.ctx.Done() }

// Err says why the connection has ended; nil while it lives.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Close ends the connection, closes both pipe ends and waits until all its goroutines have ended.
// Calls under way return [ErrClosed].
func (p *Peer) Close() error {
	p.fail(fmt.Errorf("%w by the host", ErrClosed))
	if p.notes != nil {
		p.notes.stop()
	}
	err := closeBoth(p.r, p.w)
	p.work.Wait()
	return err
}
