package blocks

import "math"

// A misnumbered is a message whose bytes are not whole, and whose sequence number is not the one
// that its place asks for.
//
// A server that reads such a block takes the number for right. If it is too high, the server takes
// every message behind it up to that number for deleted, and if it is anything else, the message
// itself. It says nothing, and its index says the same from then on.
type misnumbered struct {
	offset int64
	until  uint64 // messages behind it up to this number count as deleted for the server; 0: none do
	before uint64 // the number that it had is between these
	after  uint64
}

// misnumbers finds them among the damage of a block.
func (s *scanned) misnumbers(data []byte) {
	for _, d := range s.damage {
		r, parts, ok := head(data, int(d.From))
		if !ok || r.end() != int(d.To) || parts.subject == headSize { // what has no subject is no message
			continue
		}
		before, after := s.neighbours(d.From)
		fits := r.kind == message && r.sequence > before && r.sequence < after
		if fits || before+1 >= after { // or there is no number missing here
			continue
		}
		m := misnumbered{offset: d.From, before: before, after: after}
		if r.kind != mark && r.sequence >= after {
			m.until = r.sequence
		}
		s.strange = append(s.strange, m)
	}
}

// neighbours are the numbers of the records before and behind a place of a block; 0 and the
// highest: there is none.
func (s *scanned) neighbours(offset int64) (before, after uint64) {
	after = math.MaxUint64
	for _, r := range s.records {
		switch {
		case r.kind == mark || r.sequence == 0:
		case int64(r.offset) < offset:
			before = max(before, r.sequence)
		case after == math.MaxUint64:
			after = r.sequence
		}
	}
	return before, after
}

// doubted tells whether a server may have taken a message for deleted because of a number that is
// too high.
func (s *scanned) doubted(r record) bool {
	for _, m := range s.strange {
		if int64(r.offset) > m.offset && r.sequence <= m.until {
			return true
		}
	}
	return false
}

// count adds the message to those that are lost, unless the index has named it. An index of a
// server that has read the block says that the message was deleted.
func (m misnumbered) count(lost map[uint64]bool) {
	for n := range lost {
		if n > m.before && n < m.after {
			return
		}
	}
	if m.before == 0 && m.after != math.MaxUint64 {
		lost[m.after-1] = true
		return
	}
	lost[m.before+1] = true
}
