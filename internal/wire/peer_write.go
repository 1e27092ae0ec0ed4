package wire

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
)

const (
	backlog   = 1 << 20 // bytes that may wait in addition to one message of the largest size: the size of a pipe
	maxRounds = 8       // how often a caller writes what others have added, before a goroutine takes over
)

// An outbox combines messages that callers send at the same moment into one write. If no other
// caller is writing, a caller writes its own message, and the messages that others add meanwhile.
// It never waits: if the pipe is full, a goroutine takes over, so that no caller waits for a plugin
// that does not read.
//
//	request, notification, answer ─ commit ─ write ─ (pipe full) drain
type outbox struct {
	w    *os.File
	try  *try // writes to w without waiting; nil: the system cannot. Only the goroutine that writes uses it
	max  int  // bytes per message
	peer *Peer

	mu      sync.Mutex // protects the fields below
	buf     []byte     // to be written next
	spare   []byte     // the other buffer, while it is not being written
	writing bool       // a goroutine writes, and will write buf too
	held    int        // bytes that drain has yet to write
	err     error      // why nothing can be sent any more
}

func (o *outbox) init(w *os.File, max int, p *Peer) {
	o.w, o.max, o.peer = w, max, p
	o.try, _ = newTry(w)
}

func (o *outbox) request(method string, params []byte, id uint64, crowd bool) error {
	o.mu.Lock()
	start := len(o.buf)
	o.buf = appendRequest(roomFor(o.buf, requestSize(method, params)), method, params, id)
	return o.commit(start, crowd)
}

func (o *outbox) notification(method string, params []byte) error {
	o.mu.Lock()
	start := len(o.buf)
	o.buf = appendNotification(o.buf, method, params)
	return o.commit(start, false)
}

// answer sends a result or an error. A result that is too large is replaced by an error, because
// the plugin waits for an answer.
func (o *outbox) answer(id, result []byte, rpc *RPCError) error {
	o.mu.Lock()
	start := len(o.buf)
	if rpc == nil {
		o.buf = appendReply(o.buf, id, result)
	} else {
		o.buf = appendFault(o.buf, id, rpc)
	}
	if len(o.buf)-start-1 > o.max {
		o.buf = appendFault(o.buf[:start], id, &RPCError{Code: codeInternal, Message: tooLargeText})
	}
	return o.commit(start, false)
}

// commit decides whether the message that was added at buf[start] may be sent, and makes sure that
// a goroutine writes it. It is called with mu held, and releases it.
func (o *outbox) commit(start int, crowd bool) error {
	err := o.refuse(start)
	if err != nil {
		o.buf = o.buf[:start]
	}
	if err != nil || o.writing {
		o.mu.Unlock()
		return err
	}
	o.writing = true
	if crowd { // the other callers were most likely woken by the same read, and want to send too: let them
		o.mu.Unlock()
		runtime.Gosched()
		o.mu.Lock()
	}
	o.write()
	return nil
}

// refuse returns why the message at buf[start] cannot be sent, or nil.
func (o *outbox) refuse(start int) error {
	size, waiting := len(o.buf)-start-1, start+o.held
	switch {
	case o.err != nil:
		return o.err
	case size > o.max:
		return tooLarge(size, o.max)
	case waiting > 0 && waiting+size > o.max+backlog:
		return fmt.Errorf("%w: %d bytes wait for it", ErrBacklog, waiting)
	}
	return nil
}

// write writes buf until it is empty, or until the pipe is full. It is called with mu held, by the
// goroutine that has set writing, and releases mu.
func (o *outbox) write() {
	for round := 0; len(o.buf) > 0 && o.err == nil; round++ {
		batch := o.swap()
		o.mu.Unlock()
		n, err := 0, errWouldBlock
		if o.try != nil && round < maxRounds {
			n, err = o.try.Write(batch)
		}
		if err != nil && !errors.Is(err, errWouldBlock) {
			o.peer.fail(err)
			return
		}
		o.mu.Lock()
		if n < len(batch) {
			o.handOver(batch, n)
			return
		}
		o.put(batch)
	}
	o.writing = false
	o.mu.Unlock()
}

// handOver leaves the rest of the batch, and what is added from now on, to a goroutine that may
// wait.
func (o *outbox) handOver(batch []byte, n int) {
	o.held = len(batch) - n
	if o.err == nil { // otherwise the connection has ended, and Close may already wait for its goroutines
		o.peer.work.Go(func() { o.drain(batch, n) })
	}
	o.mu.Unlock()
}

// drain writes, and waits for the pipe, until nothing is left. It owns the batch.
func (o *outbox) drain(batch []byte, n int) {
	for {
		if _, err := o.w.Write(batch[n:]); err != nil {
			o.peer.fail(err)
			return
		}
		o.mu.Lock()
		o.put(batch)
		if len(o.buf) == 0 || o.err != nil {
			o.held, o.writing = 0, false
			o.mu.Unlock()
			return
		}
		batch, n = o.swap(), 0
		o.held = len(batch)
		o.mu.Unlock()
	}
}

// swap returns buf to be written, and puts the spare buffer in its place.
func (o *outbox) swap() []byte {
	batch := o.buf
	o.buf, o.spare = o.spare[:0], nil
	return batch
}

// put makes a written buffer the spare one, unless it has grown large.
func (o *outbox) put(batch []byte) {
	if cap(batch) > keepBuffer {
		release(batch)
		return
	}
	o.spare = batch[:0]
}

// close makes later messages fail with err, and interrupts a drain that waits.
func (o *outbox) close(err error) {
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
	_ = o.w.SetWriteDeadline(longAgo) // fails only for a closed file, which has no write to interrupt
}
