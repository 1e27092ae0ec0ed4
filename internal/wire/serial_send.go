package wire

import (
	"errors"
	"fmt"
)

// maxAnswers bounds the answers that wait: a plugin that asks and does not read gets no more.
const maxAnswers = 4 << 10

// compose puts the request into out, behind what earlier calls have left there: the rest of a
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

// nothingToRead is called by the source when the pipe is empty: now is the time to send. It reports
// whether that was done, and whether to wait for something to come.
func (s *Serial) nothingToRead() (sent, wait bool) {
	if sent = s.unsent; sent {
		s.transmit()
	}
	return sent, s.err == nil
}

// transmit puts the request on its way: with one write where the pipe takes it, as it nearly always
// does. Where it does not, a goroutine (the pump) writes the rest while we read: a plugin that
// writes before it has read everything would otherwise wait for us as we for it.
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

// write writes what the pipe takes without waiting. Where the system has no such write, it waits.
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

// sent takes the n bytes that were written off out. Of a line that was sent in part the rest must
// follow, or the next message would end in the middle of it: it stays, and is sent first next time.
// A request of which nothing was sent is dropped. So no more than one line ever waits, however
// often a plugin that does not read is called.
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

// refuse answers a request of the plugin, which has nobody to ask here, so that it does not wait
// for ever.
func (s *Serial) refuse(m *message) {
	if len(s.answers) > maxAnswers {
		s.opts.noise(NoiseUnsent, m.text(), m.raw(m.id))
		return
	}
	s.answers = appendFault(s.answers, m.raw(m.id), &RPCError{Code: codeNoMethod, Message: noMethodText})
	if !s.unsent && s.pump == nil && s.err == nil { // between the halves of our own line there is no place for it
		s.sendAnswers()
	}
}

// sendAnswers sends the answers that wait, as far as the pipe takes them: first the rest of one
// that is half-sent.
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

// pump writes the rest of out while the call reads. It owns out from startPump to stopPump.
type pump struct {
	done chan struct{} // closed when the fields below are set
	n    int           // how much of out is written
	err  error         // why not all, other than that it was stopped
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
			s.interrupt() // the call need not wait for a reply that cannot come
		}
	}()
}

// stopPump interrupts the pump, where it is not done, and takes stock.
func (s *Serial) stopPump() {
	_ = s.w.SetWriteDeadline(longAgo) // on a file that is closed there is no write left to interrupt
	<-s.pump.done
	_ = s.w.SetWriteDeadline(noDeadline)
	s.sent(s.pump.n)
	s.pump = nil
}

// pumpFailed returns why the pump had to stop, nil while it runs or where it went well.
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
