package blocks

import (
	"testing"
)

// made returns a stream of blocks with these sequence numbers; 0 stands for ten bytes that are not
// a record.
func made(blocks map[uint32][]uint64) *stream {
	s := &stream{place: place{name: "s"}, sealed: map[uint32]int64{}}
	for n := uint32(1); n <= 9; n++ {
		sequences, ok := blocks[n]
		if !ok {
			continue
		}
		b := block{number: n}
		for _, seq := range sequences {
			if seq == 0 {
				b.damage = append(b.damage, Span{int64(b.size), int64(b.size + 10)})
			} else {
				b.records = append(b.records, record{offset: b.size, size: 10, sequence: seq})
			}
			b.size += 10
		}
		s.blocks = append(s.blocks, b)
	}
	return s
}

// TestLostWithoutAnIndex counts lost messages by the numbers around the damage. The count is a
// lower bound if there are no such numbers.
func TestLostWithoutAnIndex(t *testing.T) {
	for _, c := range []struct {
		rule   string
		blocks map[uint32][]uint64
		block  uint32
		sealed bool
		want   int
	}{
		{"between two records", map[uint32][]uint64{1: {1, 2, 0, 6}}, 1, false, 3},
		{"at the end of a block that another follows", map[uint32][]uint64{1: {1, 2, 0}, 2: {5}}, 1, false, 2},
		{"at the end of all: at least one", map[uint32][]uint64{1: {1, 2, 0}}, 1, false, 1},
		{"at the beginning, behind messages that may have been deleted: at least one", map[uint32][]uint64{3: {0, 1000}}, 3, false, 1},
		{"at the beginning, behind another block", map[uint32][]uint64{2: {7}, 3: {0, 10}}, 3, false, 2},
		{"a block that was there, and is emptied", map[uint32][]uint64{1: {1, 2}, 2: {}, 3: {9}}, 2, true, 6},
		{"a block that was there, and is missing", map[uint32][]uint64{1: {1, 2}, 3: {9}}, 2, true, 6},
		{"the last block, and it is emptied: at least one", map[uint32][]uint64{1: {1, 2}, 2: {}}, 2, true, 1},
		{"the only block, and it is missing: at least one", nil, 1, true, 1},
		{"an empty block that never had a message", map[uint32][]uint64{1: {1, 2}, 2: {}}, 2, false, 0},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := made(c.blocks)
			if c.sealed {
				s.sealed[c.block] = 10
			}
			if got := newCount(s).lost(c.block); got != c.want {
				t.Errorf("%d lost, want %d", got, c.want)
			}
		})
	}
}
