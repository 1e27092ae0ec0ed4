package blocks

import "math"

// A misnumbered is a damaged message whose sequence number does not fit its place.
//
// A server that reads such a block trusts the number. If the number is too high, the server treats
// every message behind it up to that number as deleted. Otherwise the server treats the message
// itself as deleted. It logs nothing, and its index says the same from then on.
type misnumbered struct {
	offset int64
	until  uint64 // the server treats messages behind it up to this number as deleted; 0: none
	before uint64 // its original number is between these
	after  uint64
}

// misnumbers finds the misnumbered messages among the damage of a block.
func (s *scanned) misnumbers(data []byte) {
	for _, d := range s.damage {
		r, parts, ok := head(data, int(d.From))
		if !ok || r.end() != int(d.To) || parts.subject == headSize { // a record without a subject is not a message
			continue
		}
		before, after := s.neighbours(d.From)
		fits := r.kind == message && r.sequence > before && r.sequence < after
		if fits || before+1 >= after { // or no number is missing here
			continue
		}
		m := misnumbered{offset: d.From, before: before, after: after}
		if r.kind != mark && r.sequence >= after {
			m.until = r.sequence
		}
		s.strange = append(s.strange, m)
	}
}

// neighbours returns the numbers of the records before and behind an offset of a block, or 0 and
// the highest number if there is none.
func (s *scanned) neighbours(offset int64) (before, after uint64) {
	after = math.MaxUint64
	for _, r := range s.records {
		switch {
		case r.kind == mark || r.kind == repeated || r.sequence == 0:
		case int64(r.offset) < offset:
			before = max(before, r.sequence)
		case after == math.MaxUint64:
			after = r.sequence
		}
	}
	return before, after
}

// maybeDeleted reports whether a server may have treated a message as deleted because of a number
// that is too high.
func (s *scanned) maybeDeleted(r record) bool {
	for _, m := range s.strange {
		if int64(r.offset) > m.offset && r.sequence <= m.until {
			return true
		}
	}
	return false
}

// count adds the message to the lost ones, unless it is there already because the index lists it.
// The index does not list it if a server has read the block: that server treats it as deleted.
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
