package blocks

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Unread holds the blocks that [Open] has not read, because their streams have not changed since
// the last clean stop. They can be checked while the server runs. The blocks that the server needs
// first come first.
type Unread struct {
	dir    string
	blocks []unread
	before map[string]*sealedStream // by directory: streams that were undamaged, or unread, when the server started
}

// An unread is one block, as it was at the start.
type unread struct {
	*unreadStream
	number uint32
	info   fs.FileInfo
	rank   int // 0: the last or the first block of its stream, which a server reads before all others
}

// An unreadStream holds what the blocks of a stream have in common.
type unreadStream struct {
	place
	index   *index // at the last clean stop; nil: missing or damaged
	indexed bool   // readIndex was called
}

// readIndex reads the server's index of the last clean stop. It must be called before the server
// replaces the index, which it does every two minutes.
func (s *unreadStream) readIndex() {
	if s.indexed {
		return
	}
	s.indexed = true
	s.index = s.readableIndex() // without an index the counts are lower bounds
}

// add adds the blocks of a stream.
func (u *Unread) add(p place) error {
	if errors.Is(p.readable(), errForeign) {
		return nil
	}
	numbers, err := p.numbers()
	if err != nil {
		return err
	}
	s := &unreadStream{place: p}
	for i, n := range numbers {
		info, err := os.Stat(p.block(n))
		if err != nil {
			return err
		}
		b := unread{unreadStream: s, number: n, info: info, rank: 1}
		if i == 0 || i == len(numbers)-1 {
			b.rank = 0
		}
		u.blocks = append(u.blocks, b)
	}
	return nil
}

// order sorts the blocks for checking: first the first and last blocks of all streams, then the
// newest.
func (u *Unread) order() {
	slices.SortStableFunc(u.blocks, func(a, b unread) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.info.ModTime().Compare(a.info.ModTime()))
	})
}

// Len returns the number of blocks.
func (u *Unread) Len() int { return len(u.blocks) }

// Forget frees the data that only Check needs.
func (u *Unread) Forget() { u.blocks = nil }

// Streams returns the names of the streams with such blocks.
func (u *Unread) Streams() map[string]bool {
	out := make(map[string]bool)
	for _, b := range u.blocks {
		out[b.name] = true
	}
	return out
}

// ReadIndexes reads the server's indexes of the last clean stop, for exact counts.
func (u *Unread) ReadIndexes() {
	for _, b := range u.blocks {
		b.readIndex()
	}
}

// Check reads a block while a server may be using it. It copies a damaged block, as [Keep] does. It
// returns nil if the block is undamaged, or if its damage is already reported.
func (u *Unread) Check(i int, now time.Time) (*Report, error) {
	r, err := u.blocks[i].check(u.dir, now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the server removes blocks without messages; if another program did, the server logs that when it needs the block
	}
	return r, err
}

func (b *unread) check(dir string, now time.Time) (*Report, error) {
	info, err := os.Stat(b.block(b.number))
	if err != nil {
		return nil, err
	}
	if os.SameFile(info, b.info) && info.Size() < b.info.Size() {
		return b.cut(dir, now)
	}
	data, err := readBlock(b.block(b.number))
	if err != nil {
		return nil, err
	}
	s := scan(data, newHash(b.name, b.number))
	if len(s.damage) == 0 || s.torn && s.damage[0].From >= b.info.Size() {
		return nil, nil // a write may be running behind the bytes that were there at the start
	}
	return keepWithIndex(dir, b.block(b.number), now, b.index)
}

// cut reports a block whose end the server has silently cut off before the block could be copied.
// The block is still the same file: if a server makes a block smaller for a good reason, it writes
// a new file.
func (b *unread) cut(dir string, now time.Time) (*Report, error) {
	if known, err := pending(dir, b.name, b.number); known || err != nil {
		return nil, err
	}
	data, err := readBlock(b.block(b.number))
	if err != nil {
		return nil, err
	}
	s := &stream{place: b.place, index: b.index, exact: true, blocks: []block{{b.number, scan(data, newHash(b.name, b.number))}}}
	s.marked = marks(s.blocks)
	c := newCount(s)
	f := Finding{Stream: b.name, Block: b.number, Kind: Truncated, Whole: c.whole(&s.blocks[0]), Lost: max(c.lost(b.number), 1)}
	r, err := newReport(dir, now)
	if err != nil {
		return nil, err
	}
	r.Findings, r.Running = []Finding{f}, true
	return r, r.write()
}
