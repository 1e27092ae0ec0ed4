package blocks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// glanceTime bounds what a start spends on blocks that are as they were at the last clean stop. It
// is enough for some hundred megabytes that are in the system's memory.
const glanceTime = 120 * time.Millisecond

// glance looks at the lengths and the sequence numbers of blocks, and hashes nothing. A wrong
// number is the one damage that must be found before the server meets it: the server says nothing,
// cuts the block or takes its messages for deleted, and one that is far too high keeps it busy
// until the memory is used up. It returns the streams with such damage, which are not unread any
// more.
func (u *Unread) glance() []*unreadStream {
	u.order()
	var found []*unreadStream
	for i, end := 0, time.Now().Add(glanceTime); i < len(u.blocks) && time.Now().Before(end); i++ {
		b := &u.blocks[i]
		if slices.Contains(found, b.unreadStream) {
			continue
		}
		b.readIndex()
		if !u.Glance(i) && len(scan(u.buffer, newHash(b.name, b.number)).damage) > 0 {
			found = append(found, b.unreadStream)
		}
		b.seen = true
	}
	u.buffer = nil // there may be no more to look at
	u.blocks = slices.DeleteFunc(u.blocks, func(b unread) bool { return slices.Contains(found, b.unreadStream) })
	return found
}

// readInto reads a block into a buffer, which grows where it is too small.
func (b *unread) readInto(buffer []byte) ([]byte, error) {
	size := b.info.Size()
	if size > maxBlock {
		return nil, fmt.Errorf("%d bytes are more than a block can have", size)
	}
	f, err := os.Open(b.block(b.number))
	if err != nil {
		return nil, err
	}
	buffer = slices.Grow(buffer[:0], int(size))[:size]
	_, err = io.ReadFull(f, buffer)
	return buffer, errors.Join(err, f.Close())
}

// strange tells whether the lengths of a block do not follow each other to its end, or its numbers
// do not grow, or they are not those that the index has. Of the last record it hashes all: by its
// hash the server decides whether it reads every block.
func (b *unread) strange(data []byte) bool {
	var first, last uint64
	x, known := b.expected()
	for at := 0; at < len(data); {
		r, parts, ok := head(data, at)
		if !ok {
			return true
		}
		at = r.end()
		if at == len(data) && !parts.holds(data[r.offset:], newHash(b.name, b.number)) {
			return true
		}
		empty := parts.subject == headSize
		switch {
		case r.kind == mark && empty:
			continue
		case r.kind == mark, r.kind == deleted && !empty, r.sequence <= last:
			return true
		}
		if last = r.sequence; first == 0 && r.sequence >= x.first {
			first = r.sequence
		}
	}
	return known && x.live() > 0 && (first != x.first || last != x.last)
}

func (b *unread) expected() (indexed, bool) {
	if b.index == nil {
		return indexed{}, false
	}
	x, ok := b.index.blocks[b.number]
	return x, ok
}
