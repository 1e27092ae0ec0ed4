package blocks

import (
	"encoding/binary"
	"hash"
)

// searchBudget limits how many bytes are hashed in the search for the next undamaged record of a
// block. Ordinary damage needs a few records. Only a message that was made to look like many
// records could need more; then everything behind it counts as damaged.
const searchBudget = 1 << 30

// The times of records are between these, in nanoseconds since 1970: 2001 and 2223. This matters
// only for searching records.
const (
	firstTime = 1e18
	lastTime  = 8e18
)

// A Span is a range of bytes of a block.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A scanned is the content of a block.
type scanned struct {
	size    int
	records []record
	damage  []Span
	strange []misnumbered // a part of the damage
	// torn is set if the last damaged span begins as a record, and the file ends before that record
	// does. So a write was interrupted, and most likely never acknowledged.
	torn bool
}

// scan reads a block from its first to its last byte.
func scan(data []byte, h hash.Hash64) scanned {
	s := scanned{size: len(data)}
	search := search{data: data, hash: h, budget: searchBudget}
	for at := 0; at < len(data); {
		if r, ok := parse(data, at, h); ok {
			if r.kind == message && r.sequence <= search.last {
				r.kind = repeated
			}
			s.records = append(s.records, r)
			search.saw(r)
			at = r.end()
			continue
		}
		next := search.after(at)
		s.damage = append(s.damage, Span{int64(at), int64(next)})
		s.torn = next == len(data) && isTornRecord(data[at:])
		at = next
	}
	s.misnumbers(data)
	return s
}

// isTornRecord reports whether the remaining bytes can be the beginning of a record.
func isTornRecord(rest []byte) bool {
	if len(rest) < headSize {
		return true
	}
	length := binary.LittleEndian.Uint32(rest) &^ headerBit
	return length <= maxRecord && int(length) > len(rest)
}

// A search finds the next undamaged record behind damage.
type search struct {
	data   []byte
	hash   hash.Hash64
	last   uint64 // the highest sequence number so far, without marks
	budget int    // bytes that may still be hashed
}

func (s *search) saw(r record) {
	if r.kind != mark {
		s.last = max(s.last, r.sequence)
	}
}

// after returns the offset of the next undamaged record, or the end of the block.
//
// If the length of the damaged record is still right, the next record follows it. That is checked
// first, so that the content of a damaged message is not mistaken for a record.
func (s *search) after(at int) int {
	if r, _, ok := head(s.data, at); ok {
		if next := r.end(); next == len(s.data) || s.isRecord(next) {
			return next
		}
	}
	for next := at + 1; next <= len(s.data)-headSize-hashSize; next++ {
		if s.isRecord(next) {
			return next
		}
	}
	return len(s.data)
}

// isRecord reports whether an undamaged and plausible record is at an offset.
func (s *search) isRecord(at int) bool {
	r, parts, ok := head(s.data, at)
	if !ok || !s.plausible(r, s.data[at+headSize:at+parts.subject]) || r.size > s.budget {
		return false
	}
	s.budget -= r.size
	return parts.hasValidHash(s.data[at:r.end()], s.hash)
}

// plausible rejects most bytes that are not a record without hashing them. Sequence numbers of a
// block only grow.
func (s *search) plausible(r record, subject []byte) bool {
	inTime := r.time > firstTime && r.time < lastTime
	switch r.kind {
	case mark:
		return inTime && len(subject) == 0 && r.size == headSize+hashSize
	case deleted:
		return (inTime || r.time == 0) && len(subject) == 0 && r.sequence > s.last
	}
	if !inTime || r.sequence <= s.last || len(subject) == 0 {
		return false
	}
	for _, c := range subject {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
