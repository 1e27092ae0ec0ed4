package blocks

import "fmt"

// A Kind says what happened to a block.
type Kind string

// The kinds of findings.
const (
	Damaged   Kind = "damaged"   // some of its bytes have changed
	Truncated Kind = "truncated" // its end is missing
	Emptied   Kind = "emptied"   // it has no bytes any more
	Missing   Kind = "missing"   // its file is missing
	Settings  Kind = "settings"  // not a block: meta.inf and meta.sum of the stream do not match
	Consumer  Kind = "consumer"  // not a block: the files of a consumer, which remembers what the takers of a queue were sent
)

// A Finding says what is wrong with one block.
type Finding struct {
	Stream string `json:"stream"`
	Block  uint32 `json:"block"`
	Kind   Kind   `json:"kind"`
	Whole  int    `json:"whole"`            // undamaged messages in it
	Cut    int    `json:"cut"`              // those of them that the server would have cut off
	Lost   int    `json:"lost"`             // messages that cannot be read any more
	Damage []Span `json:"damage,omitempty"` // the bytes that are not records
	Kept   string `json:"kept,omitempty"`   // the copy of the block as it was found
	Back   int    `json:"back,omitempty"`   // messages that the server had cut off, and that are back in their place
	Name   string `json:"name,omitempty"`   // of a consumer
	InUse  int    `json:"in_use,omitempty"` // undamaged messages whose numbers others have by now: only in the copy
}

// String returns the finding in one line.
func (f Finding) String() string {
	if f.Kind == Settings {
		return fmt.Sprintf("stream %s: its settings are damaged; the engine writes them again, and no message is lost", f.Stream)
	}
	if f.Kind == Consumer {
		return fmt.Sprintf("stream %s: the files of its consumer %s are damaged; the engine makes it again, and no message is lost", f.Stream, f.Name)
	}
	if f.Block == 0 {
		return fmt.Sprintf("stream %s: the stream, or a block of it, is %s; it is not known how many messages are lost", f.Stream, f.Kind)
	}
	text := fmt.Sprintf("stream %s, block %d is %s: %d records whole", f.Stream, f.Block, f.Kind, f.Whole)
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

// findings lists the problems of a stream, by block.
func (s *stream) findings() []Finding {
	var out []Finding
	if s.badSettings() {
		out = append(out, Finding{Stream: s.name, Kind: Settings})
	}
	for _, name := range s.consumers {
		out = append(out, Finding{Stream: s.name, Kind: Consumer, Name: name})
	}
	c := newCount(s)
	for _, n := range s.known() {
		if f, bad := s.finding(n, c); bad {
			out = append(out, f)
		}
	}
	if len(out) == len(s.consumers) && s.index != nil && s.index.last > s.top() {
		// The index lists a higher sequence number than any record has. Even a deleted message
		// leaves a record with its number. So the end of the last block is missing.
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
		f.Lost = max(f.Lost, 1) // at least one; the index would show the exact number
	}
	f.Kind = s.kindOf(b, f.Lost)
	if len(b.damage) == 0 {
		return f, f.Lost > 0
	}
	// A write that was interrupted at the end of the last block was never acknowledged, unless the
	// index has it.
	unacknowledged := b.torn && len(b.damage) == 1 && n == s.lastNumber() && f.Lost == 0
	return f, !unacknowledged
}

func (s *stream) kindOf(b *block, lost int) Kind {
	if len(b.damage) == 0 || b.torn && len(b.damage) == 1 && lost > 0 {
		return Truncated
	}
	return Damaged
}

// A count tells how many messages of a stream are undamaged, and how many are lost.
type count struct {
	stream *stream
	seen   map[uint64]bool // made at the first use: an undamaged store does not need it
}

func newCount(s *stream) *count { return &count{stream: s} }

// isNamed reports whether an undamaged record names a sequence number: as a message, a deleted one,
// or a mark.
func (c *count) isNamed(sequence uint64) bool {
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

// live reports whether a record is a message that is not known to be deleted.
func (s *stream) live(n uint32, r record) bool {
	if r.kind != message || s.marked[r.sequence] {
		return false
	}
	if b := s.find(n); s.index == nil || b != nil && b.maybeDeleted(r) {
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

// whole counts the readable messages of a block.
func (c *count) whole(b *block) int {
	n := 0
	for _, r := range b.records {
		if c.stream.live(b.number, r) {
			n++
		}
	}
	return n
}

// behind counts the undamaged messages behind the first damage.
func (c *count) behind(b *block) int {
	n := 0
	for _, r := range b.records {
		if len(b.damage) > 0 && int64(r.offset) > b.damage[0].From && c.stream.live(b.number, r) {
			n++
		}
	}
	return n
}

// lost counts the messages of a block that no longer exist. With an index these are messages that
// it lists. Without one they are the numbers that are missing around the damage.
func (c *count) lost(n uint32) int {
	lost := make(map[uint64]bool)
	s := c.stream
	x, ok := s.expected(n)
	b := s.find(n)
	if b != nil && len(b.damage) == 0 && b.size > 0 && (!ok || c.whole(b) >= x.live()) {
		return 0 // the usual case
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

// gap notes which messages are missing around an offset: those between the number before it and the
// number behind it. If there is no number before it, they begin with the first message of the
// index; without an index only the last of them is noted. If there is no number behind it, gap
// notes one message, but none if others are noted already, if there is an exact index, or if a
// write was interrupted there.
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

// add notes which messages between two sequence numbers are missing, without those that are known
// to be deleted.
func (c *count) add(lost map[uint64]bool, n uint32, from, to uint64) {
	x, known := indexed{}, false
	if c.stream.index != nil {
		from = max(from, c.stream.index.first)
		x, known = c.stream.index.blocks[n]
	}
	for seq := from; seq <= to && to != 0; seq++ {
		if !c.isNamed(seq) && (!known || seq > x.last || x.has(seq)) {
			lost[seq] = true
		}
	}
}

// expected returns what the index says about a block, if that can be trusted. In a stream with
// limits the server may have removed messages since it wrote the index. But it never empties a
// block, so for an empty block the index can be trusted.
func (s *stream) expected(n uint32) (indexed, bool) {
	if s.index == nil {
		return indexed{}, false
	}
	x, ok := s.index.blocks[n]
	b := s.find(n)
	return x, ok && (s.exact || b != nil && b.size == 0)
}

// around returns the sequence numbers of the last message before an offset and of the first behind
// it, or 0.
func (s *stream) around(n uint32, offset int64) (before, after uint64) {
	for _, b := range s.blocks {
		for _, r := range b.records {
			switch {
			case r.kind == mark || r.kind == repeated || r.sequence == 0:
			case b.number < n || b.number == n && int64(r.offset) < offset:
				before = max(before, r.sequence)
			case after == 0:
				after = r.sequence
			}
		}
	}
	return before, after
}
