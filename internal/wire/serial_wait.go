package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

// firstWait is how long a call waits before it registers with its context (context.AfterFunc).
// Registering allocates, and costs as much as scanning a message; most replies arrive before that.
// So a call may notice its cancellation up to firstWait late, or twice that if it lingered. A
// deadline is always met exactly.
const firstWait = 5 * time.Millisecond

// arm sets a deadline so that a read wakes up within firstWait, or at the context's deadline if
// that is earlier. If the deadline of an earlier call is still set, it is left alone: setting one
// costs more than an occasional needless wake-up.
func (s *Serial) arm(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if s.tryR != nil {
		s.tryR.deadline = deadline
	}
	if !ok && ctx.Done() == nil { // Done is called last, because the contexts of package hook set their timer then
		return
	}
	if s.armed && !(ok && deadline.Before(s.wake)) {
		return
	}
	s.wake = time.Now().Add(firstWait)
	if ok && deadline.Before(s.wake) {
		s.wake = deadline
	}
	s.armed = s.r.SetReadDeadline(s.wake) == nil
}

// read waits for more input. If the request is not sent yet, it does not wait: it sends the request
// when there is nothing left to read.
func (s *Serial) read(ctx context.Context) error {
	for {
		err := s.in.fill(s.source())
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errWouldBlock):
			s.transmit()
			return nil
		case !isTimeout(err):
			return err
		}
		if err := s.woken(ctx); err != nil {
			return err
		}
	}
}

// source returns the reader for the next read.
func (s *Serial) source() io.Reader {
	if s.unsent {
		return (*atOnce)(s.tryR)
	}
	return s.src
}

// holdOn sets how long a call with a held reply waits for a better one: holdMost, or half of the
// time until its deadline if that is shorter. Without a held reply it does nothing.
func (s *Serial) holdOn(ctx context.Context) error {
	if s.held.line == nil || !s.held.until.IsZero() {
		return nil
	}
	wait := holdMost
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	s.held.until = time.Now().Add(wait)
	return s.woken(ctx)
}

// woken finds out why a read was interrupted, and prepares the next one.
//
// It sets the new deadline before it checks the context. If the context has just ended, the new
// deadline may overwrite its interrupt, but then the check finds that the context has ended.
func (s *Serial) woken(ctx context.Context) error {
	s.armed = false
	deadline, ok := ctx.Deadline()
	if ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded // the context's own timer may be a moment late
	}
	if until := s.held.until; !until.IsZero() {
		if !time.Now().Before(until) {
			return errHeld
		}
		deadline = until // it is before the context's
	}
	if err := s.r.SetReadDeadline(deadline); err != nil {
		return err
	}
	if s.unsent {
		s.arm(ctx) // the deadline of an earlier call has passed in between
		return ctx.Err()
	}
	if s.watch == nil && ctx.Done() != nil { // a long call: from here on the context interrupts it
		s.watch = context.AfterFunc(ctx, s.interrupt)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.pumpFailed()
}

// interrupt wakes the reading goroutine. It may come late, when the next call already waits. That
// call finds that its own context has not ended, and continues to wait.
func (s *Serial) interrupt() { _ = s.r.SetReadDeadline(longAgo) }
