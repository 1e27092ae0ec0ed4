package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// drainMax limits the input that is discarded before a request is sent: as much as a pipe can hold.
// Anything after that was written later.
const drainMax = 1 << 20

// A Serial is a connection with one call under way. The goroutine that calls writes the request and
// reads the reply itself: passing the reply between goroutines would cost a wake-up, and wake-ups
// are most of the cost of a small call.
type Serial struct {
	opts    Options
	r, w    *os.File
	closing atomic.Bool   // Close was called
	turn    chan struct{} // full while a call is under way; that call owns the fields below

	in    *Reader
	src   io.Reader // waits for input: r, or tryR
	tryR  *try      // also reads r without waiting; nil: the system cannot
	id    uint64    // of the last request; ids count from 1
	given givenUp   // calls given up without a reply
	err   error     // why no call can succeed any more

	// Replies with another id: serial_line.go.
	right int // how many replies in a row had the id of their call
	texts texts
	held  held // a reply with another id, while it may still turn out to be an old one

	// Sending: serial_send.go.
	tryW    *try   // w without waiting; nil: the system cannot
	out     []byte // the rest of a half-sent line, then the request
	old     int    // how many bytes of out are from earlier calls
	unsent  bool   // the request is in out, and not yet written
	answers []byte // to requests of the plugin; they are sent when no line is half-sent
	pump    *pump  // writes the rest of out while the call reads; nil: one write was enough

	// Waiting: serial_wait.go.
	wake  time.Time // when the read will be interrupted, if armed
	armed bool
	watch func() bool // ends the watch on the context; nil: there is none
}

// TextIDs reports whether a reply had the id of its request as a string, such as "1" for 1.
func (s *Serial) TextIDs() bool { return s.texts.seen() }

// NewSerial makes a connection of the host's ends of a plugin's pipes: it reads r and writes w.
func NewSerial(r, w *os.File, o Options) *Serial {
	s := &Serial{opts: o, r: r, w: w, src: r, turn: make(chan struct{}, 1)}
	if tryR, ok := newTry(r); ok {
		s.src, s.tryR = tryR, tryR
	}
	s.tryW, _ = newTry(w)
	s.in = NewReader(s.src, o.maxReceive())
	growPipe(r)
	growPipe(w)
	return s
}

// Call sends a request and waits for its reply. params is a compact JSON object; nil means {}. The
// result is compact, valid UTF-8 and owned by the caller.
//
// The error is an [*RPCError] if the plugin answered with one; a [*MalformedError]; [ErrTooLarge]
// if the request or the reply was too large; [ErrClosed]; or the error of the context.
func (s *Serial) Call(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	r, err := s.call(ctx, method, params, false)
	return r.JSON, err
}

// Ask is [Serial.Call] for callers that need the fields of the result.
func (s *Serial) Ask(ctx context.Context, method string, params []byte) (Result, error) {
	return s.call(ctx, method, params, true)
}

func (s *Serial) call(ctx context.Context, method string, params []byte, split bool) (Result, error) {
	if err := s.lock(ctx); err != nil {
		return Result{}, fmt.Errorf("waiting to call %q: %w", method, err)
	}
	defer s.unlock()
	if s.err != nil {
		return Result{}, s.err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("calling %q: %w", method, err)
	}
	if err := s.compose(method, params); err != nil {
		return Result{}, err
	}
	s.arm(ctx)
	m, err := s.exchange(ctx)
	s.endCall()
	if err != nil {
		return Result{}, s.explain(method, err)
	}
	return m.outcome(s.in, split)
}

func (s *Serial) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Serial) unlock() { <-s.turn }

// exchange reads until it has the reply. It first discards the lines that arrived before the call,
// and sends the request when there is nothing left to read. Otherwise a plugin that once replied
// twice would be one reply behind forever. Half a line is kept, because its rest may arrive with
// the call. A plugin that always returns the right ids gets the request at once, which saves one of
// four system calls: its old replies are recognized by their ids.
func (s *Serial) exchange(ctx context.Context) (message, error) {
	drained := 0
	for s.err == nil {
		line, ok, err := s.in.line()
		switch {
		case err != nil:
			if s.oversized() {
				return message{}, err
			}
			err = nil
		case ok:
			if m, ok := s.handleLine(line, s.wanted()); ok {
				return m, nil
			}
			err = s.holdOn(ctx)
		case s.in.err != nil:
			return s.endOutput()
		case s.unsent && (s.tryR == nil || s.echoes() || drained > drainMax):
			s.transmit()
		default:
			err = s.read(ctx)
			drained += len(s.in.buf) - s.in.next
		}
		switch {
		case errors.Is(err, errHeld):
			return s.takeHeld(), nil
		case err != nil:
			return message{}, err
		}
	}
	return message{}, s.err
}

// wanted returns the id of the outstanding call, or 0 if its request was not sent yet.
func (s *Serial) wanted() uint64 {
	if s.unsent {
		return 0
	}
	return s.id
}

// oversized reports whether a line over the limit was the reply to the outstanding call. It was,
// unless its beginning says otherwise.
func (s *Serial) oversized() bool {
	head, _ := peek(s.in.head)
	id, ok := head.callID()
	if s.unsent || ok && id != s.id && s.given.take(id) || head.method.End > 0 {
		s.opts.noise(NoiseTooLarge, s.in.head, head.raw(head.id))
		return false
	}
	return true
}

// endOutput handles the end of the plugin's output. A last reply without a newline counts.
func (s *Serial) endOutput() (message, error) {
	half := s.in.last()
	if m, ok := s.handleLine(half, s.wanted()); ok {
		return m, nil
	}
	if s.held.line != nil {
		return s.takeHeld(), nil
	}
	if len(half) > 0 {
		return message{}, fmt.Errorf("%w: plugin closed its output in the middle of a line: %q", ErrClosed, excerpt.Head(half, messageCut))
	}
	return message{}, io.EOF
}

// endCall stops the pump and the watch on the context, and drops a request that was not sent and a
// reply that is still held.
func (s *Serial) endCall() {
	if s.pump != nil {
		s.stopPump()
	}
	if s.unsent {
		s.sent(0)
	}
	if s.held.line != nil {
		s.dropHeld()
	}
	if s.watch != nil {
		s.watch()
		s.watch = nil
	}
}

// explain returns the error of a call without a reply, and updates the state of the connection.
func (s *Serial) explain(method string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		s.given.add(s.id)
		return fmt.Errorf("no reply to %q: %w", method, err)
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("reply to %q: %w", method, err)
	}
	return s.fail(err)
}

// fail ends the connection.
func (s *Serial) fail(err error) error {
	switch {
	case s.closing.Load():
		s.err = fmt.Errorf("%w by the host", ErrClosed)
	case errors.Is(err, ErrClosed):
		s.err = err
	case errors.Is(err, io.EOF):
		s.err = fmt.Errorf("%w: plugin closed its output", ErrClosed)
	case isGone(err):
		s.err = fmt.Errorf("%w: plugin closed its input", ErrClosed)
	default:
		s.err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return s.err
}

// Close ends the connection and closes both pipe ends. A call under way returns [ErrClosed].
func (s *Serial) Close() error {
	s.closing.Store(true)
	return closeBoth(s.r, s.w)
}
