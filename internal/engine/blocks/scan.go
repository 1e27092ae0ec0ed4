package blocks

import (
	"encoding/binary"
	"hash"
)

// searchBudget bounds the bytes that are hashed in the search for the next whole record of a block.
// Damage needs a few records' worth. Only a message that was made to look like many records could
// need more; what is behind it then counts as damaged.
const searchBudget = 1 << 30

// Times of records are between these, in nanoseconds since 1970: 2001 and 2223. It only matters
// where a record is searched for.
const (
	firstTime = 1e18
	lastTime  = 8e18
)

// A Span is a range of bytes of a block.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A scanned is what a block has.
type scanned struct {
	size    int
	records []record
	damage  []Span
	strange []misnumbered // some of the damage
	// torn is set where the last span begins as a record and the file ends before that record does:
	// the end of a write that was cut short. Where nothing says otherwise, it was never
	// acknowledged.
	torn bool
}

// scan reads a block from its first to its last byte.
func scan(data []byte, h hash.Hash64) scanned {
	s := scanned{size: len(data)}
	search := search{data: data, hash: h, budget: searchBudget}
	for at := 0; at < len(data); {
		if r, ok := parse(data, at, h); ok {
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

// isTornRecord tells whether what is left can be the beginning of a record, and no more than that.
func isTornRecord(rest []byte) bool {
	if len(rest) < headSize {
		return true
	}
	length := binary.LittleEndian.Uint32(rest) &^ headerBit
	return length <= maxRecord && int(length) > len(rest)
}

// A search looks for the next whole record behind damage.
type search struct {
	data   []byte
	hash   hash.Hash64
	last   uint64 // sequence number of the last whole record that has a place in the order
	budget int    // bytes that may still be hashed
}

func (s *search) saw(r record) {
	if r.kind != mark {
		s.last = max(s.last, r.sequence)
	}
}

// after returns where the next whole record stands, or the end of the block.
//
// If the length of the damaged record is still right, the next one follows it. That is looked at
// first: so what a message contains is never taken for a record when only the message was damaged.
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

// isRecord tells whether a whole and plausible record is at an offset.
func (s *search) isRecord(at int) bool {
	r, parts, ok := head(s.data, at)
	if !ok || !s.plausible(r, s.data[at+headSize:at+parts.subject]) || r.size > s.budget {
		return false
	}
	s.budget -= r.size
	return parts.hasValidHash(s.data[at:r.end()], s.hash)
}

// plausible refuses most of what is no record without hashing it. Sequence numbers of a block only
// grow.
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
