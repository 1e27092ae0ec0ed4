package wire

import (
	"errors"

	"github.com/patchbay-dev/patchbay/internal/rawjson"
)

// judge looks at every message on a line, and returns the one that is the reply to the call with the id want (0: none).
// Two messages on one line happen where a plugin's threads share its output.
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

// accept reports whether the message is the reply to the call with the id want, and makes a noise where something is odd.
func (s *Serial) accept(m *message, want uint64) bool {
	id, ok := m.callID()
	ours := ok && want != 0 && id == want
	switch m.kind() {
	case isReply:
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
// The rule for plugins of this kind: a reply to a call that already timed out is discarded; a reply whose id was never
// issued, or was already answered, is taken for the one outstanding call, with a warning. Plugins with hard-coded ids
// exist.
func (s *Serial) acceptOdd(m *message, want uint64) bool {
	kind := NoiseWrongID
	if id, ok := m.callID(); ok && s.given.take(id) {
		kind = NoiseLate
	} else if want == 0 {
		kind = NoiseStale
	}
	s.opts.noise(kind, m.text(), m.raw(m.id))
	return kind == NoiseWrongID
}
