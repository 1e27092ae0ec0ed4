package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"

	"github.com/nats-io/nats-server/v2/server/avl"
)

// An index is the content of a stream's msgs/index.db.
type index struct {
	first, last uint64 // sequence numbers of the stream
	lastTime    int64
	blocks      map[uint32]indexed
}

// An indexed is the part of the index about one block.
type indexed struct {
	first, last uint64
	deleted     *avl.SequenceSet // nil: none
}

// live counts the messages of a block.
func (x indexed) live() int {
	if x.last < x.first {
		return 0
	}
	n := int(x.last - x.first + 1)
	if x.deleted != nil {
		n -= x.deleted.Size()
	}
	return max(n, 0)
}

// has reports whether the index lists a message of the block, and not as deleted.
func (x indexed) has(sequence uint64) bool {
	return sequence >= x.first && sequence <= x.last && (x.deleted == nil || !x.deleted.Exists(sequence))
}

var errIndex = errors.New("index.db is damaged")

const (
	indexMagic = 11
	// The versions of the format: 2 added the number of messages that expire, 3 that of scheduled
	// messages, 4 the last block of every subject.
	indexOldest, indexNewest = 1, 4
)

// parseIndex decodes an index.db. A damaged one is an error but no loss, because the server makes
// it from the blocks.
func parseIndex(data []byte, stream string) (*index, error) {
	if len(data) < 2+hashSize {
		return nil, errIndex
	}
	text, sum := data[:len(data)-hashSize], data[len(data)-hashSize:]
	h := keyed(sha256.Sum256([]byte(stream)))
	h.Write(text)
	if !bytes.Equal(h.Sum(nil), sum) || text[0] != indexMagic || text[1] < indexOldest || text[1] > indexNewest {
		return nil, errIndex
	}
	f := fields{rest: text[2:], version: text[1]}
	x := f.index()
	if f.bad {
		return nil, errIndex
	}
	return x, nil
}

// readableIndex returns the index of a stream, or nil if it is missing or damaged.
func (p place) readableIndex() *index {
	data, err := os.ReadFile(p.index())
	if err != nil {
		return nil
	}
	x, _ := parseIndex(data, p.name)
	return x
}

// fields reads one number after another; bad is set at the first one that is missing.
type fields struct {
	rest    []byte
	version byte
	bad     bool
}

func (f *fields) index() *index {
	x := &index{blocks: make(map[uint32]indexed)}
	f.uint() // messages
	f.uint() // bytes
	x.first = f.uint()
	f.int() // time of the first message
	x.last, x.lastTime = f.uint(), f.int()
	for n := f.uint(); n > 0 && !f.bad; n-- {
		f.subject()
	}
	for n := f.uint(); n > 0 && !f.bad; n-- {
		number, b := f.block()
		x.blocks[number] = b
	}
	return x
}

func (f *fields) subject() {
	length := f.uint()
	if length == 0 {
		return
	}
	f.skip(length)
	total := f.uint()
	f.uint() // its first block
	if total > 1 || f.version >= 4 {
		f.uint() // its last block
	}
}

func (f *fields) block() (uint32, indexed) {
	number := uint32(f.uint())
	f.uint() // bytes
	var b indexed
	b.first = f.uint()
	f.int()
	b.last = f.uint()
	f.int()
	removed := f.uint()
	if f.version >= 2 {
		f.uint()
	}
	if f.version >= 3 {
		f.uint()
	}
	if removed > 0 && !f.bad {
		set, n, err := avl.Decode(f.rest)
		if err != nil || n < 0 || n > len(f.rest) {
			f.bad = true
			return number, b
		}
		b.deleted, f.rest = set, f.rest[n:]
	}
	return number, b
}

func (f *fields) uint() uint64 {
	v, n := binary.Uvarint(f.rest)
	f.advance(n)
	return v
}

func (f *fields) int() int64 {
	v, n := binary.Varint(f.rest)
	f.advance(n)
	return v
}

func (f *fields) skip(n uint64) {
	if n > uint64(len(f.rest)) {
		f.bad = true
		return
	}
	f.rest = f.rest[n:]
}

// advance skips a number of n bytes. The decoders return 0 or less if there is none.
func (f *fields) advance(n int) {
	if n <= 0 {
		f.bad, f.rest = true, nil
		return
	}
	f.rest = f.rest[n:]
}
