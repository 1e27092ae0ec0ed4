package conformance

import (
	"errors"
	"time"
)

// greeted makes the first handshake and returns the answer, or why there is none. The process stays
// for the checks after it.
func (s *rpcSuite) greeted(t *trial, r request) *answer {
	d, err := s.begin()
	if err != nil {
		t.failStart(err)
		return nil
	}
	s.talking = d
	a, err := d.ask(r.method, r.params, r.within)
	if err != nil {
		t.failf("%s: %v%s%s", r.method, err, s.afterAll(d), s.instead())
		t.endedFix(err)
		s.dropLive()
		return nil
	}
	s.startup = a.took
	return a
}

// endedFix gives the advice for a process that ends too early.
func (t *trial) endedFix(err error) {
	if errors.Is(err, errEnded) {
		t.fixWith("find out why it ends; the same command with -v shows all that it writes to stderr")
	}
}

// afterAll closes stdin, and waits a moment for the missing answer. If it comes now, the plugin has
// not flushed its stdout.
func (s *rpcSuite) afterAll(d *dialogue) string {
	if !d.alive() {
		return ""
	}
	id, wait := d.expect() // an answer that comes now counts for this one
	defer d.forget(id)
	_ = d.process.Stdin().Close()
	select {
	case <-wait:
		return "; it came when stdin was closed: flush stdout after each line"
	case <-d.ended:
	case <-time.After(lingerTime):
	}
	return ""
}

// instead returns what the plugin wrote instead of an answer, such as an answer whose id is null.
func (s *rpcSuite) instead() string {
	for _, kind := range []sight{sawNoise, sawReply} {
		if text := s.seen.first(kind); text != "" {
			return "; instead it wrote " + text
		}
	}
	return ""
}

// prompt warns if the start takes more than half of its time.
func (s *rpcSuite) prompt(limit time.Duration) func(*trial) {
	return func(t *trial) {
		if limit = s.limit(limit); s.startup > limit/2 {
			t.warnf("it took %s of the %s that it has", s.startup.Round(10*time.Millisecond), limit)
			return
		}
		t.passf("%s", s.startup.Round(time.Millisecond))
	}
}

// slow warns about answers that took most of their time: on a slower machine they would be too
// late.
func slow(t *trial) {
	if text := t.seen.of(sawSlow); text != "" {
		t.warnf("%s", text)
		t.fixWith("do less in a hook, or do it before the hook is called; on a slower machine the answer comes too late")
	}
}
