package wire

import (
	"context"
	"errors"
	"time"
)

// firstWait is how long a call waits before it asks the context to interrupt it. Asking
// (context.AfterFunc) allocates and costs as much as the scan of a message; most replies are there
// before that. So a cancelled call may notice as much as this later, and as much again where it
// lingered. A deadline is met exactly in any case.
const firstWait = 5 * time.Millisecond

// arm sees to it that a read wakes up within firstWait, or at the deadline if that is sooner. Calls
// that follow each other find the timer of the one before still set and leave it: setting one costs
// more than a wake-up for nothing now and then.
func (s *Serial) arm(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if s.tryR != nil {
		s.tryR.deadline = deadline
	}
	if !ok && ctx.Done() == nil { // Done is asked for last: a context may have to set a timer for it
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

// read waits for more input.
func (s *Serial) read(ctx context.Context) error {
	for {
		err := s.in.fill(s.src)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errWouldBlock): // and not to be waited for: the request could not be sent
			return s.err
		case !isTimeout(err):
			return err
		}
		if err := s.woken(ctx); err != nil {
			return err
		}
	}
}

// holdOn bounds the wait for a better reply than the one that is held, where one is: by half of the
// time that is left.
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

// woken finds out why a read was interrupted, and makes ready to wait on.
//
// The new deadline is set before the context is looked at: an interrupt that came in between was
// overwritten by it, but then the context is done.
func (s *Serial) woken(ctx context.Context) error {
	s.armed = false
	deadline, ok := ctx.Deadline()
	if ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded // the context's own timer may be a moment behind ours
	}
	if until := s.held.until; !until.IsZero() {
		if !time.Now().Before(until) {
			return errHeld
		}
		deadline = until // which is before the context's
	}
	if err := s.r.SetReadDeadline(deadline); err != nil {
		return err
	}
	if s.unsent {
		s.arm(ctx) // a timer of an earlier call, which has run out in between
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

// interrupt wakes the reading goroutine. It may come late, when the next call is already waiting:
// that one finds its own context in order and waits on.
func (s *Serial) interrupt() { _ = s.r.SetReadDeadline(longAgo) }
