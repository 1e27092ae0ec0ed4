package wire

import (
	"bytes"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// judge looks at every message on a line, and returns the one that is the reply to the call with
// the id want (0: none). Two messages on one line happen where a plugin's threads share its output.
func (s *Serial) judge(line []byte, want uint64) (reply message, found bool) {
	for i := rawjson.Space(line, 0); i < len(line); i = rawjson.Space(line, i) {
		m, err := scanMessage(line, i)
		if err != nil {
			s.opts.garbage(line[i:], err)
			return reply, found
		}
		if s.accept(&m, want) {
			reply, found, want = m, true, 0
		}
		i = m.end
	}
	return reply, found
}

// accept reports whether the message is the reply to the call with the id want, and makes a noise
// where something is odd.
func (s *Serial) accept(m *message, want uint64) bool {
	id, ok := m.callID()
	ours := ok && want != 0 && id == want
	switch m.kind() {
	case isReply:
		if ours {
			s.right++
		}
		return ours || s.acceptOdd(m, want)
	case isNothing:
		if !ours {
			s.opts.garbage(m.text(), errNothing)
		}
		return ours // and a malformed reply, then
	case isRequest:
		s.refuse(m)
	}
	s.opts.noise(NoiseUnasked, m.text(), m.raw(m.id))
	return false
}

var errNothing = errors.New("has neither method, result nor error")

// acceptOdd decides on a reply with another id, or none.
//
// The rule for plugins of this kind: a reply to a call that already timed out is discarded; a reply
// whose id was never issued, or was already answered, is taken for the one outstanding call, with a
// warning. Plugins with hard-coded ids exist. From one that has always had them right it may be an
// old reply that comes once more, so it is taken only when no better one comes.
func (s *Serial) acceptOdd(m *message, want uint64) bool {
	id, ok := m.callID()
	switch {
	case ok && s.given.take(id):
		s.opts.noise(NoiseLate, m.text(), m.raw(m.id))
	case want == 0:
		s.opts.noise(NoiseStale, m.text(), m.raw(m.id))
	case ok && s.echoes():
		s.hold(m)
	default:
		s.right = 0
		s.opts.noise(NoiseWrongID, m.text(), m.raw(m.id))
		return true
	}
	return false
}

// echoesAfter is how many right ids in a row show that a plugin does not make them up: the first
// may be right by chance.
const echoesAfter = 3

// echoes reports whether the plugin's ids are to be relied on. Where a wait cannot be bounded (no
// tryR), nothing can be held.
func (s *Serial) echoes() bool { return s.right >= echoesAfter && s.tryR != nil }

// held is a reply that may be the one or an old one.
type held struct {
	line  []byte    // nil: there is none
	until time.Time // when it is taken for the one
}

// holdMost is how long a better reply is waited for, where there is time. It is needed once: after
// that the plugin is none that echoes.
const holdMost = time.Second

// errHeld ends the wait for a better reply.
var errHeld = errors.New("no better reply has come")

func (s *Serial) hold(m *message) {
	until := s.held.until // of the first: a plugin that goes on like this is not waited for any longer
	if s.held.line != nil {
		s.dropHeld()
	}
	s.held = held{line: bytes.Clone(m.text()), until: until}
}

// dropHeld is for when the held reply was an old one.
func (s *Serial) dropHeld() {
	m, _ := scanMessage(s.held.line, 0) // it was scanned before
	s.opts.noise(NoiseStale, m.text(), m.raw(m.id))
	s.held = held{}
}

// takeHeld is the held reply as the one.
func (s *Serial) takeHeld() message {
	m, _ := scanMessage(s.held.line, 0) // it was scanned before
	s.held = held{}
	s.right = 0
	s.opts.noise(NoiseWrongID, m.text(), m.raw(m.id))
	return m
}
