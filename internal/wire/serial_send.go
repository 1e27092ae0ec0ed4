package wire

import (
	"errors"
	"fmt"
)

// maxAnswers limits the answers that wait for a plugin that sends requests and does not read.
const maxAnswers = 4 << 10

// compose puts the request into out, after what earlier calls have left there: the rest of a
// half-sent line, and answers.
func (s *Serial) compose(method string, params []byte) error {
	s.out = append(s.out, s.answers...)
	s.answers = s.answers[:0]
	s.old = len(s.out)
	s.out = appendRequest(roomFor(s.out, requestSize(method, params)), method, params, s.id+1)
	if size := len(s.out) - s.old - 1; size > s.opts.maxSend() {
		s.out = s.out[:s.old]
		return fmt.Errorf("request %q: %w", method, tooLarge(size, s.opts.maxSend()))
	}
	s.id++
	s.unsent = true
	return nil
}

// transmit sends the request, with one write if it fits the pipe, which it nearly always does.
// Otherwise a goroutine (the pump) writes the rest while the call reads. Without it, a plugin that
// writes before it has read everything would wait for the host, and the host for it.
func (s *Serial) transmit() {
	s.unsent = false
	n, err := s.write(s.out)
	switch {
	case err != nil:
		_ = s.fail(err) // ends the exchange
	case n < len(s.out):
		s.startPump(n)
	default:
		s.sent(n)
		s.sendAnswers()
	}
}

// write writes as much as the pipe takes without waiting. If the system has no such write, it
// waits.
func (s *Serial) write(p []byte) (int, error) {
	if s.tryW == nil {
		return s.w.Write(p)
	}
	n, err := s.tryW.Write(p)
	if errors.Is(err, errWouldBlock) {
		err = nil
	}
	return n, err
}

// sent removes the n bytes that were written from out. If a line was sent in part, its rest stays
// and is sent first next time; otherwise the next message would end up in the middle of it. A
// request of which nothing was sent is dropped. So at most one line ever waits, however often a
// plugin that does not read is called.
func (s *Serial) sent(n int) {
	switch {
	case n <= s.old:
		s.out = append(s.out[:0], s.out[n:s.old]...)
	default:
		s.out = append(s.out[:0], s.out[n:]...)
	}
	s.old = 0
	s.unsent = false
	if len(s.out) == 0 && cap(s.out) > keepBuffer {
		release(s.out)
		s.out = nil
	}
}

// refuse answers a request of the plugin with an error, so that it does not wait forever.
func (s *Serial) refuse(m *message) {
	if len(s.answers) > maxAnswers {
		s.opts.noise(NoiseUnsent, m.text(), m.raw(m.id))
		return
	}
	s.answers = appendFault(s.answers, m.raw(m.id), &RPCError{Code: codeNoMethod, Message: noMethodText})
	if !s.unsent && s.pump == nil && s.err == nil { // it cannot be sent in the middle of a line
		s.sendAnswers()
	}
}

// sendAnswers sends the answers that wait, as far as the pipe takes them, after the rest of a
// half-sent one.
func (s *Serial) sendAnswers() {
	for len(s.out)+len(s.answers) > 0 {
		if len(s.out) == 0 {
			s.out, s.answers = s.answers, s.out
		}
		s.old = len(s.out)
		n, err := s.write(s.out)
		if err != nil {
			_ = s.fail(err) // ends the exchange
			return
		}
		if s.sent(n); len(s.out) > 0 {
			return
		}
	}
}

// A pump writes the rest of out while the call reads. It owns out from startPump to stopPump.
type pump struct {
	done chan struct{} // closed when the fields below are set
	n    int           // how many bytes of out are written
	err  error         // why not all, unless the pump was stopped
}

func (s *Serial) startPump(n int) {
	p := &pump{done: make(chan struct{})}
	s.pump = p
	go func() {
		more, err := s.w.Write(s.out[n:])
		p.n = n + more
		failed := err != nil && !isTimeout(err)
		if failed {
			p.err = err
		}
		close(p.done)
		if failed {
			s.interrupt() // the call need not wait for a reply that cannot arrive
		}
	}()
}

// stopPump interrupts the pump, if it still writes, and removes what it has written from out.
func (s *Serial) stopPump() {
	_ = s.w.SetWriteDeadline(longAgo) // fails only for a closed file, which has no write to interrupt
	<-s.pump.done
	_ = s.w.SetWriteDeadline(noDeadline)
	s.sent(s.pump.n)
	s.pump = nil
}

// pumpFailed returns why the pump stopped, or nil if it still runs or has written everything.
func (s *Serial) pumpFailed() error {
	if s.pump == nil {
		return nil
	}
	select {
	case <-s.pump.done:
		return s.pump.err
	default:
		return nil
	}
}
