package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequests limits the plugin's requests that are answered at the same time.
const maxRequests = 16

// PeerOptions are the options of a [Peer]. The zero value works.
//
// [Peer.Close] waits until none of these functions runs any more, so they must not call it.
type PeerOptions struct {
	Options
	OnNotify   func(method string, params json.RawMessage) // called in order, on one goroutine; nil: notifications are noise
	NotifyRate int                                         // notifications per second; 0: unlimited. The surplus is dropped before it is queued
	OnDropped  func(n int)                                 // called with the number of dropped notifications, at most once a second, on the goroutine of OnNotify
	// OnRequest answers a request of the plugin; several run at the same time. Its context ends
	// with the connection. An [*RPCError] is sent as it is. nil: the answer is -32601.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// OnGivenUp is called, on the caller's goroutine, when a call is given up because its context
	// ended. Some protocols have a message for that. May be nil.
	OnGivenUp func(id uint64, method string)
}

// A Peer is a connection with many calls under way, to a plugin that may send notifications and
// requests itself. One goroutine reads. Each caller writes its own message. If several callers send
// at the same moment, one of them writes all their messages with one write.
type Peer struct {
	opts     PeerOptions
	r, w     *os.File
	in       *Reader       // used only by the reading goroutine
	atEnd    wantedID      // used only by the reading goroutine: the id to look for at the end of the line over the limit that is being discarded
	endless  atomic.Bool   // the plugin writes a line over the limit that has not ended
	notes    *notifier     // nil: there is no OnNotify
	requests chan struct{} // holds a token for each request being answered
	out      outbox
	slots    sync.Pool // of *slot
	texts    texts
	work     sync.WaitGroup // every goroutine of the connection
	ctx      context.Context
	cancel   context.CancelFunc // of ctx: called when the connection has ended

	mu      sync.Mutex       // protects the fields below
	pending map[uint64]*slot // calls under way, by id
	last    uint64           // the last id issued; ids count from 1
	clock   *time.Timer      // runs look every firstWait, as long as a patient call does not watch its context; nil until the first patient call
	ticking bool             // the clock is set
	round   uint64           // how often look was called
	given   givenUp          // calls given up without a reply
	err     error            // why the connection ended
}

// A wantedID is the kind of id to look for at the end of a line.
type wantedID int

const (
	noID wantedID = iota
	replyID
	requestID
)

// A slot is where a call waits. It belongs to the call. The goroutine that takes it out of pending
// must fill it, once.
type slot struct {
	filled chan bool // gets true when the reply is there; before that it may get false, which means that the reply takes long. It has room for both
	split  bool      // the call needs the fields of the result
	result Result
	err    error

	// A patient call has a distant deadline. It does not watch its context until look tells it that
	// the reply takes long. The fields are used while the call is in pending, and protected by
	// Peer.mu.
	patient bool
	since   uint64 // the round in which the call began
	told    bool   // look has told it
}

func (s *slot) fill(result Result, err error) {
	s.result, s.err = result, err
	s.filled <- true
}

// NewPeer makes a connection of the host's ends of a plugin's pipes, and starts to read r.
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

// Call sends a request and waits for its reply. params is a compact JSON object; nil means {}. The
// result is compact, valid UTF-8 and owned by the caller. The errors are those of [Serial.Call],
// and [ErrBacklog].
//
// A reply over the size limit fails its call at once, if its id is in the first 512 bytes or is the
// last field of the line. Otherwise the call is unknown: the reply is a noise, and the call ends
// with its context. A request of the plugin over the limit is answered with an error, if its id is
// found in the same way.
//
// A call whose context has a deadline may notice up to 10 ms late that it was cancelled; see look.
// It does meet its deadline.
func (p *Peer) Call(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	r, err := p.call(ctx, method, params, false)
	return r.JSON, err
}

// Ask is [Peer.Call] for callers that need the fields of the result.
func (p *Peer) Ask(ctx context.Context, method string, params []byte) (Result, error) {
	return p.call(ctx, method, params, true)
}

func (p *Peer) call(ctx context.Context, method string, params []byte, split bool) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("calling %q: %w", method, err)
	}
	deadline, limited := ctx.Deadline()
	patient := limited && time.Until(deadline) > 2*firstWait
	id, s, crowd, err := p.register(patient, split)
	if err != nil {
		return Result{}, err
	}
	if err := p.out.request(method, params, id, crowd); err != nil {
		p.take(id) // s is not reused: if the connection has just ended, fail may still fill it
		return Result{}, err
	}
	return p.await(ctx, method, id, s)
}

// Notify sends a notification. When it returns, the notification has been written or queued.
func (p *Peer) Notify(ctx context.Context, method string, params []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("notifying %q: %w", method, err)
	}
	return p.out.notification(method, params)
}

// AwaitNotifications waits until all notifications that arrived before the last reply have been
// passed to OnNotify, or ctx ends. Callers for whom that order matters call it after [Peer.Call].
// OnNotify must not call it.
func (p *Peer) AwaitNotifications(ctx context.Context) {
	if p.notes != nil {
		p.notes.awaitQueued(ctx)
	}
}

// register adds a new call. crowd reports that other calls are under way.
func (p *Peer) register(patient, split bool) (id uint64, s *slot, crowd bool, err error) {
	s = p.slots.Get().(*slot)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, nil, false, p.err
	}
	s.patient, s.since, s.told = patient, p.round, false
	s.split = split
	if patient && !p.ticking {
		p.tick()
	}
	p.last++
	p.pending[p.last] = s
	return p.last, s, len(p.pending) > 1, nil
}

// take removes a call from the pending ones. It returns nil if the call is not there.
func (p *Peer) take(id uint64) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.pending[id]
	delete(p.pending, id)
	return s
}

// tick sets the clock. The caller holds mu.
func (p *Peer) tick() {
	p.ticking = true
	if p.clock == nil {
		p.clock = time.AfterFunc(firstWait, p.look)
		return
	}
	p.clock.Reset(firstWait)
}

// look notifies every patient call whose reply takes longer than firstWait. The call is notified
// before twice that time has passed. Until then the call does not watch its context, because the
// contexts of package hook allocate and set a timer when Done is called. One clock for all calls
// costs less than one for each, since most are answered at once.
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

// await waits for the reply or the end of the context. A patient call does not watch its context
// until look tells it that the reply takes long.
func (p *Peer) await(ctx context.Context, method string, id uint64, s *slot) (Result, error) {
	for filled := s.patient && <-s.filled; !filled; {
		select {
		case filled = <-s.filled:
		case <-ctx.Done():
			if p.giveUp(id) {
				p.slots.Put(s)
				if p.opts.OnGivenUp != nil {
					p.opts.OnGivenUp(id, method)
				}
				return Result{}, p.noReply(ctx, method)
			}
			filled = <-s.filled // the reply has arrived at the same moment
		}
	}
	result, err := s.result, s.err
	s.result, s.err = Result{}, nil
	p.slots.Put(s)
	return result, err
}

// noReply returns the error of a call whose context has ended. While a plugin writes a line without
// an end, no reply can arrive, and more time would not help.
func (p *Peer) noReply(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && p.endless.Load() {
		return fmt.Errorf("no reply to %q: %w, and the line has not ended", method, p.in.tooLarge())
	}
	return fmt.Errorf("no reply to %q: %w", method, ctx.Err())
}

// giveUp removes a call. It returns false if its reply has arrived already.
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

// fail ends the connection, once. Calls under way and later ones get the error.
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
	p.pending = nil // deleting from a nil map is fine, and nothing is added any more
	p.mu.Unlock()

	p.out.close(err)
	for _, s := range pending {
		s.fill(Result{}, err)
	}
	p.cancel()
}

// Done returns a channel that is closed when the connection has ended, on either side.
func (p *Peer) Done() <-chan struct{} { return p.ctx.Done() }

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
