package wire

import (
	"bytes"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// handleLine handles every message on a line, and returns the reply to the call with the id want
// (0: there is no call). A line has two messages if threads of a plugin share its output.
func (s *Serial) handleLine(line []byte, want uint64) (reply message, found bool) {
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

// accept reports whether the message is the reply to the call with the id want. It reports anything
// odd as a noise.
func (s *Serial) accept(m *message, want uint64) bool {
	id, ok := m.callID()
	ours := ok && want != 0 && id == want
	switch m.kind() {
	case isReply:
		if ours {
			s.right++
			s.texts.note(m)
		}
		return ours || s.acceptOdd(m, want)
	case isNothing:
		if !ours {
			s.opts.garbage(m.text(), errNothing)
		}
		return ours // as a malformed reply
	case isRequest:
		s.refuse(m)
	}
	s.opts.noise(NoiseUnasked, m.text(), m.raw(m.id))
	return false
}

var errNothing = errors.New("has neither method, result nor error")

// acceptOdd decides about a reply with another id, or none: docs/protocols/scaffold.md, rows S42 to
// S44. A reply to a call that timed out is discarded. A reply whose id was never issued, or was
// already answered, is accepted for the outstanding call with a warning, because plugins with
// hard-coded ids exist. A plugin whose last replies had the right ids may have sent an old reply
// again, so its reply is held until it is clear that no better one comes.
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
		s.adopted(m)
		return true
	}
	return false
}

// echoesAfter is how many right ids in a row show that a plugin copies them. The first one may be
// right by chance.
const echoesAfter = 3

// echoes reports whether the plugin's ids can be relied on. Without tryR a wait cannot be bounded,
// so no reply can be held.
func (s *Serial) echoes() bool { return s.right >= echoesAfter && s.tryR != nil }

// held is a reply that may be the right one or an old one.
type held struct {
	line  []byte    // nil: there is none
	until time.Time // when it is accepted
}

// holdMost is how long Serial waits for a better reply, if the deadline allows it. If none comes,
// the plugin's ids are not relied on, so its next replies are not held, until echoesAfter of them
// in a row had the right id.
const holdMost = time.Second

// errHeld ends the wait for a better reply.
var errHeld = errors.New("no better reply has come")

func (s *Serial) hold(m *message) {
	until := s.held.until // the time of the first held reply, so that the wait does not grow
	if s.held.line != nil {
		s.dropHeld()
	}
	s.held = held{line: bytes.Clone(m.text()), until: until}
}

// dropHeld discards a held reply that was an old one.
func (s *Serial) dropHeld() {
	m, _ := scanMessage(s.held.line, 0) // was scanned before
	s.opts.noise(NoiseStale, m.text(), m.raw(m.id))
	s.held = held{}
}

// takeHeld accepts the held reply.
func (s *Serial) takeHeld() message {
	m, _ := scanMessage(s.held.line, 0) // was scanned before
	s.held = held{}
	s.adopted(&m)
	return m
}

// adopted reports a reply with a wrong id that is accepted.
func (s *Serial) adopted(m *message) {
	s.right = 0
	if s.opts.OnNoise != nil {
		s.opts.OnNoise(Noise{Kind: NoiseWrongID, Line: excerpt.Head(m.text(), messageCut), ID: excerpt.Head(m.raw(m.id), idCut),
			Why: "it was accepted, as the answer to the only call under way"})
	}
}
