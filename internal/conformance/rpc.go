package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// rpcSuite is shared by the suites of dialects whose plugins keep running and speak JSON-RPC.
type rpcSuite struct {
	*bench
	launch  func() launch
	prepare func(*dialogue)         // before anything is sent; may be nil
	greet   func(d *dialogue) error // the handshake of every process but the first
	ping    request                 // a request that every plugin must answer
	talking *dialogue               // the process that most checks use; nil: none now
	startup time.Duration           // how long the first handshake took
}

// A request is a method and its params.
type request struct {
	method string
	params json.RawMessage
	within time.Duration
}

// fresh starts a process for one check, and makes the handshake.
func (s *rpcSuite) fresh() (*dialogue, error) {
	d, err := s.begin()
	if err != nil {
		return nil, err
	}
	if err := s.greet(d); err != nil {
		d.kill()
		return nil, fmt.Errorf("the handshake of another process: %w", err)
	}
	return d, nil
}

// begin starts a process and sends nothing.
func (s *rpcSuite) begin() (*dialogue, error) {
	d, err := s.talk(s.launch())
	if err == nil && s.prepare != nil {
		s.prepare(d)
	}
	return d, err
}

// live returns the process that most checks use. It starts another if the last has ended.
func (s *rpcSuite) live() (*dialogue, error) {
	if s.talking != nil && s.talking.alive() {
		return s.talking, nil
	}
	if s.talking != nil {
		s.talking.release()
	}
	var err error
	s.talking, err = s.fresh()
	return s.talking, err
}

// dropLive ends the process that most checks use because it no longer answers.
func (s *rpcSuite) dropLive() {
	if s.talking != nil {
		s.talking.kill()
		s.talking = nil
	}
}

// mustLive calls open, which is live, fresh or begin, and returns its process. If open returns an
// error, mustLive fails the check and returns nil.
func (s *rpcSuite) mustLive(t *trial, open func() (*dialogue, error)) *dialogue {
	d, err := open()
	if err != nil {
		t.failStart(err)
		return nil
	}
	return d
}

// ask sends a request to the process that most checks use. If there is no answer, the check fails,
// and the process is replaced.
func (s *rpcSuite) ask(t *trial, what string, r request) *answer {
	d := s.mustLive(t, s.live)
	if d == nil {
		return nil
	}
	a, err := d.ask(r.method, r.params, r.within)
	if err != nil {
		t.failf("%s: %v", what, err)
		t.endedFix(err)
		s.dropLive()
		return nil
	}
	if a.took > s.limit(r.within)/2 && a.took > time.Second {
		s.seen.note(sawSlow, "%s took %s of %s", what, a.took.Round(100*time.Millisecond), s.limit(r.within))
	}
	return a
}

// unknownMethod calls a method that does not exist.
func (s *rpcSuite) unknownMethod(t *trial) {
	a := s.ask(t, "a method that does not exist", request{"conformance.no-such-method", json.RawMessage(`{}`), s.ping.within})
	switch {
	case t.failed():
	case a.err == nil:
		t.warnf("a method that does not exist is answered with a result: %s", shown(a.result))
	case a.err.Code != codeNoMethod:
		t.warnf("the error has code %d, not %d", a.err.Code, codeNoMethod)
	default:
		t.passf("%s", a.err)
	}
}

// garbled sends invalid lines, and checks that the next request is answered.
func (s *rpcSuite) garbled(t *trial) {
	for _, bad := range []string{"this is not JSON", `{"jsonrpc":"2.0","method":`, "\x00\xff\xfe", ""} {
		d := s.mustLive(t, s.fresh)
		if d == nil {
			return
		}
		d.garbled.Store(true)
		_ = d.write([]byte(bad + "\n")) // if it has ended, the next request shows that
		_, err := d.ask(s.ping.method, s.ping.params, s.ping.within)
		d.kill()
		switch {
		case errors.Is(err, errNoAnswer):
			t.failf("after the line %s it does not answer the next request: %v", shown(bad), err)
			return
		case err != nil && s.ctx.Err() != nil:
			t.failf("%v", context.Cause(s.ctx))
			return
		case err != nil:
			t.warnf("it ends after the line %s: %v", shown(bad), err)
			return
		}
	}
	t.passf("it ignores them")
}

// inPieces sends a request whose bytes come in three parts.
func (s *rpcSuite) inPieces(t *trial) {
	d := s.mustLive(t, s.live)
	if d == nil {
		return
	}
	id, wait := d.expect()
	line := message(s.ping.method, s.ping.params, id)
	third := len(line) / 3
	if _, err := d.exchange(id, wait, s.ping.within, line[:third], line[third:2*third], line[2*third:]); err != nil {
		t.failf("a request that came in three parts: %v", err)
		s.dropLive()
	}
}

// large sends a request with a megabyte in it.
func (s *rpcSuite) large(t *trial, r request) {
	a := s.ask(t, fmt.Sprintf("%s with 1 MiB", r.method), r)
	if !t.failed() {
		t.passf("answered in %s", a.took.Round(time.Millisecond))
	}
}

// long returns a text of a megabyte.
func long() json.RawMessage {
	return rawjson.String(strings.Repeat("a line of text, as long as lines of text are \\\"\n", 1<<20/49))
}

// together sends requests to one process at once.
func (s *rpcSuite) together(t *trial, requests []request) {
	d := s.mustLive(t, s.live)
	if d == nil {
		return
	}
	t.sideBySide(len(requests), func(i int) string {
		if _, err := d.ask(requests[i].method, requests[i].params, requests[i].within); err != nil {
			return fmt.Sprintf("%s: %v", requests[i].method, err)
		}
		return ""
	})
	if t.failed() {
		s.dropLive()
	}
}

// twice runs two processes at once.
func (s *rpcSuite) twice(t *trial) {
	if s.mustLive(t, s.live) == nil {
		return
	}
	d := s.mustLive(t, s.fresh)
	if d == nil {
		return
	}
	defer d.kill()
	if _, err := d.ask(s.ping.method, s.ping.params, s.ping.within); err != nil {
		t.failf("a second process beside the first: %v", err)
		return
	}
	s.ask(t, "the first process beside a second", s.ping)
}

// stdinEnd closes stdin without a shutdown.
func (s *rpcSuite) stdinEnd(t *trial, within time.Duration) {
	d := s.mustLive(t, s.fresh)
	if d == nil {
		return
	}
	if !d.closeStdin(within) {
		t.failf("it was still running %s after the end of its stdin", s.limit(within))
		d.kill()
		return
	}
	d.release()
	if !t.checkCrash("at the end of its stdin it", d.process.Exit(), d.process.Stderr()) {
		t.passf("%s", d.process.Exit())
	}
}

// shutdown sends shutdown, and returns the process and its answer. Another check waits for the end
// of the process. Both results are nil if there is no answer.
func (s *rpcSuite) shutdown(t *trial, r request) (d *dialogue, a *answer) {
	if d = s.mustLive(t, s.live); d == nil {
		return nil, nil
	}
	s.talking = nil // it is ending
	a, err := d.ask(r.method, r.params, r.within)
	if err != nil {
		t.failf("%s: %v", r.method, err)
		d.kill()
		return nil, nil
	}
	return d, a
}

// exits checks that a process ends after shutdown.
func (s *rpcSuite) exits(t *trial, d *dialogue, within time.Duration) {
	if d == nil {
		t.skipf("shutdown was not answered")
		return
	}
	if !d.closeStdin(within) {
		t.failf("it was still running %s after it had answered shutdown and its stdin was closed", s.limit(within))
		d.kill()
		return
	}
	d.release()
	if exit := d.process.Exit(); exit.Code != 0 {
		t.warnf("it ended with %s%s", exit, stderrEnd(d.process.Stderr()))
	}
}
