package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// write writes a line, in the given pieces. An answer to a request of the plugin waits until the
// line is whole.
func (d *dialogue) write(pieces ...[]byte) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	for i, piece := range pieces {
		if i > 0 {
			d.letRead()
		}
		if _, err := d.process.Stdin().Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// message returns a request as the host writes it.
func message(method string, params json.RawMessage, id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":%s,"id":%d}`+"\n", rawjson.String(method), params, id)
}

// expect registers a new request, and returns the channel for its answer.
func (d *dialogue) expect() (id int, wait chan *answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	wait = make(chan *answer, 1)
	d.waiting[strconv.Itoa(d.next)] = wait
	return d.next, wait
}

// ask sends a request and waits for its answer.
func (d *dialogue) ask(method string, params json.RawMessage, within time.Duration) (*answer, error) {
	id, wait := d.expect()
	return d.exchange(id, wait, within, message(method, params, id))
}

// exchange writes a request in the given pieces, and waits for its answer.
func (d *dialogue) exchange(id int, wait chan *answer, within time.Duration, pieces ...[]byte) (*answer, error) {
	began, said := time.Now(), d.process.Stderr()
	timer := time.NewTimer(d.b.limit(within))
	defer timer.Stop()
	go func() { _ = d.write(pieces...) }() // if it has ended, that is noticed below
	select {
	case a := <-wait:
		a.took = time.Since(began)
		return a, nil
	case <-d.ended:
		select {
		case a := <-wait: // its last message
			a.took = time.Since(began)
			return a, nil
		default:
		}
		d.forget(id)
		return nil, d.howEnded()
	case <-d.b.ctx.Done():
		d.forget(id)
		return nil, context.Cause(d.b.ctx)
	case <-timer.C:
		d.forget(id)
		return nil, fmt.Errorf("%w within %s%s%s", errNoAnswer, d.b.limit(within), d.unfinished(), d.saidSince(said))
	}
}

// Between two parts of a line, the plugin gets time to read the first: until the pipe is empty, and
// a moment more.
const (
	pieceGap  = 20 * time.Millisecond
	mostPause = 2 * time.Second
)

// letRead waits until the plugin has read what was written, if that can be seen.
func (d *dialogue) letRead() {
	until := time.Now().Add(mostPause)
	for {
		select {
		case <-time.After(pieceGap):
		case <-d.ended:
			return
		}
		if unread(d.process.Stdin()) == 0 || time.Now().After(until) {
			return
		}
	}
}

func (d *dialogue) forget(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, strconv.Itoa(id))
}

// unfinished returns the output without a line end.
func (d *dialogue) unfinished() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tail) == 0 {
		return ""
	}
	return "; it wrote " + shown(d.tail) + " without a line end"
}

// saidSince returns the last line of stderr. It returns "" if stderr is still the same as earlier.
func (d *dialogue) saidSince(earlier string) string {
	now := d.process.Stderr()
	if now == earlier {
		return ""
	}
	return stderrEnd(now)
}

// howEnded returns how a process ended by itself.
func (d *dialogue) howEnded() error {
	if !d.b.await(d.process, lingerTime) {
		return fmt.Errorf("%w: it closed its stdout and runs on", errEnded)
	}
	d.b.suspect(d.process.Stderr())
	return fmt.Errorf("%w with %s%s", errEnded, d.process.Exit(), stderrEnd(d.process.Stderr()))
}

// tell sends a notification.
func (d *dialogue) tell(method string, params json.RawMessage) error {
	return d.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":%s}`+"\n", rawjson.String(method), params))
}

// alive reports whether the process can still answer.
func (d *dialogue) alive() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// closeStdin closes stdin, waits for the end of the process, and reports whether the process ended
// in time.
func (d *dialogue) closeStdin(within time.Duration) bool {
	_ = d.process.Stdin().Close()
	return d.b.await(d.process, d.b.limit(within))
}

// kill ends the process.
func (d *dialogue) kill() {
	d.process.Terminate(0)
	<-d.process.Done()
	d.release()
}

// release notes what an ended process left behind, and closes its pipes.
func (d *dialogue) release() {
	select {
	case <-d.ended:
	case <-time.After(lingerTime):
	}
	d.process.Stop(context.Background(), proc.Ladder{})
	if d.process.Left() {
		d.b.seen.note(sawLeft, "it left a process running when it ended")
	}
}
