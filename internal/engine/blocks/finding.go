package blocks

import "fmt"

// A Kind is what happened to a block.
type Kind string

// The kinds of findings.
const (
	Damaged   Kind = "damaged"   // some of its bytes are not what was written
	Truncated Kind = "truncated" // its end is gone
	Emptied   Kind = "emptied"   // it has no bytes any more
	Missing   Kind = "missing"   // its file is gone
	Settings  Kind = "settings"  // not a block: meta.inf and meta.sum of the stream do not fit together
)

// A Finding says what is wrong with one block.
type Finding struct {
	Stream string `json:"stream"`
	Block  uint32 `json:"block"`
	Kind   Kind   `json:"kind"`
	Whole  int    `json:"whole"`            // messages in it that are whole
	Cut    int    `json:"cut"`              // of those, the ones that the server would have cut off
	Lost   int    `json:"lost"`             // messages that cannot be read any more
	Damage []Span `json:"damage,omitempty"` // which bytes are no record
	Kept   string `json:"kept,omitempty"`   // the copy of the block as it was found
	Back   int    `json:"back,omitempty"`   // messages that the server had cut off, and that are in their place again
	InUse  int    `json:"in_use,omitempty"` // messages that are whole, and whose numbers others have by now: in the copy alone
}

// String is the finding in one line.
func (f Finding) String() string {
	if f.Kind == Settings {
		return fmt.Sprintf("stream %s: its settings are damaged; the engine writes them anew, and loses no message", f.Stream)
	}
	if f.Block == 0 {
		return fmt.Sprintf("stream %s: all of it, or a block of it, is %s; how many messages are lost is not known", f.Stream, f.Kind)
	}
	text := fmt.Sprintf("stream %s, block %d is %s: %d messages whole", f.Stream, f.Block, f.Kind, f.Whole)
	if f.Cut > 0 {
		text += fmt.Sprintf(" (%d of them behind the damage)", f.Cut)
	}
	text += fmt.Sprintf(", %d lost", f.Lost)
	if f.Back > 0 {
		text += fmt.Sprintf(", %d put back", f.Back)
	}
	if f.InUse > 0 {
		text += fmt.Sprintf(", %d not put back because their numbers are in use", f.InUse)
	}
	if f.Kept != "" {
		text += ", kept as " + f.Kept
	}
	return text
}

// findings lists what is wrong with a stream, by block.
func (s *stream) findings() []Finding {
	var out []Finding
	if s.badSettings() {
		out = append(out, Finding{Stream: s.name, Kind: Settings})
	}
	c := newCount(s)
	for _, n := range s.known() {
		if f, bad := s.finding(n, c); bad {
			out = append(out, f)
		}
	}
	if len(out) == 0 && s.index != nil && s.index.last > s.top() {
		// The server never forgets the last sequence number: a mark has it when the message is
		// gone.
		out = append(out, Finding{Stream: s.name, Block: s.lastNumber(), Kind: Truncated, Lost: 0})
	}
	return out
}

func (s *stream) lastNumber() uint32 {
	if known := s.known(); len(known) > 0 {
		return known[len(known)-1]
	}
	return 0
}

func (s *stream) finding(n uint32, c *count) (Finding, bool) {
	f := Finding{Stream: s.name, Block: n, Lost: c.lost(n)}
	b := s.find(n)
	switch {
	case b == nil:
		f.Kind = Missing
		return f, f.Lost > 0 || s.sealed[n] > 0
	case b.size == 0:
		f.Kind = Emptied
		return f, f.Lost > 0 || s.sealed[n] > 0
	}
	f.Whole, f.Cut, f.Damage = c.whole(b), c.behind(b), b.damage
	if s.index == nil && int64(b.size) < s.sealed[n] {
		f.Lost = max(f.Lost, 1) // at least; the index would know
	}
	f.Kind = s.kindOf(b, f.Lost)
	if len(b.damage) == 0 {
		return f, f.Lost > 0
	}
	// A write that was cut short at the end of the last block was never acknowledged, unless the
	// index knows of it.
	unacknowledged := b.torn && len(b.damage) == 1 && n == s.lastNumber() && f.Lost == 0
	return f, !unacknowledged
}

func (s *stream) kindOf(b *block, lost int) Kind {
	if len(b.damage) == 0 || b.torn && len(b.damage) == 1 && lost > 0 {
		return Truncated
	}
	return Damaged
}

// A count tells how many messages of a stream are whole, and how many are lost.
type count struct {
	stream *stream
	seen   map[uint64]bool // made when it is first asked: a store without damage does without
}

func newCount(s *stream) *count { return &count{stream: s} }

// there tells whether any whole record speaks of a sequence number: as a message, a deleted one, or
// a mark.
func (c *count) there(sequence uint64) bool {
	if c.seen == nil {
		c.seen = make(map[uint64]bool)
		for _, b := range c.stream.blocks {
			for _, r := range b.records {
				c.seen[r.sequence] = true
			}
		}
	}
	return c.seen[sequence]
}

// live tells whether a record is a message that is not known to be deleted.
func (s *stream) live(n uint32, r record) bool {
	if r.kind != message || s.marked[r.sequence] {
		return false
	}
	if b := s.find(n); s.index == nil || b != nil && b.doubted(r) {
		return true
	}
	x, ok := s.index.blocks[n]
	switch {
	case r.sequence < s.index.first:
		return false
	case !ok || r.sequence > x.last:
		return true // newer than the index
	}
	return x.has(r.sequence)
}

// whole counts the messages of a block that can be read.
func (c *count) whole(b *block) int {
	n := 0
	for _, r := range b.records {
		if c.stream.live(b.number, r) {
			n++
		}
	}
	return n
}

// behind counts the whole messages behind the first damage.
func (c *count) behind(b *block) int {
	n := 0
	for _, r := range b.records {
		if len(b.damage) > 0 && int64(r.offset) > b.damage[0].From && c.stream.live(b.number, r) {
			n++
		}
	}
	return n
}

// lost counts the messages of a block that are nowhere any more: those that the index has, and
// where it does not help, those whose numbers are missing around the damage.
func (c *count) lost(n uint32) int {
	lost := make(map[uint64]bool)
	s := c.stream
	x, ok := s.expected(n)
	b := s.find(n)
	if b != nil && len(b.damage) == 0 && b.size > 0 && (!ok || c.whole(b) >= x.live()) {
		return 0 // as nearly always
	}
	if ok {
		c.add(lost, n, x.first, x.last)
	}
	switch {
	case b == nil || b.size == 0:
		if s.sealed[n] > 0 && s.index == nil {
			c.gap(lost, n, 0)
		}
		return len(lost)
	case len(b.damage) == 0:
		return len(lost)
	}
	for _, d := range b.damage {
		c.gap(lost, n, d.From)
	}
	for _, m := range b.strange {
		m.count(lost)
	}
	return len(lost)
}

// gap notes which messages are missing around a place. Where no number stands before or behind it,
// how many there were is not known, and at least one is noted, unless the index has every message
// or the place is the end of a write that was cut short.
func (c *count) gap(lost map[uint64]bool, n uint32, offset int64) {
	s := c.stream
	before, after := s.around(n, offset)
	if before == 0 && s.index != nil && s.index.first > 0 {
		before = s.index.first - 1
	} else if before == 0 && after > 1 {
		before = after - 2
	}
	if after != 0 {
		c.add(lost, n, before+1, after-1)
		return
	}
	b := s.find(n)
	if torn := b != nil && b.torn; !torn && len(lost) == 0 && (s.index == nil || !s.exact) {
		lost[s.top()+1] = true
	}
}

// add notes which messages from one sequence number to another are not there, without those known
// to be deleted.
func (c *count) add(lost map[uint64]bool, n uint32, from, to uint64) {
	x, known := indexed{}, false
	if c.stream.index != nil {
		from = max(from, c.stream.index.first)
		x, known = c.stream.index.blocks[n]
	}
	for seq := from; seq <= to && to != 0; seq++ {
		if !c.there(seq) && (!known || seq > x.last || x.has(seq)) {
			lost[seq] = true
		}
	}
}

// expected is what the index says about a block, where that can be trusted: in a stream with
// limits, the server may have removed messages since it wrote the index, but it never leaves a
// block with no bytes.
func (s *stream) expected(n uint32) (indexed, bool) {
	if s.index == nil {
		return indexed{}, false
	}
	x, ok := s.index.blocks[n]
	b := s.find(n)
	return x, ok && (s.exact || b != nil && b.size == 0)
}

// around returns the sequence numbers of the last message before a place and of the first behind
// it; 0: there is none.
func (s *stream) around(n uint32, offset int64) (before, after uint64) {
	for _, b := range s.blocks {
		for _, r := range b.records {
			switch {
			case r.kind == mark || r.sequence == 0:
			case b.number < n || b.number == n && int64(r.offset) < offset:
				before = max(before, r.sequence)
			case after == 0:
				after = r.sequence
			}
		}
	}
	return before, after
}
