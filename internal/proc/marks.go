package proc

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

const (
	// markBits is how many low bits of a mark number the process. The other bits are the random
	// prefix of the group.
	markBits = 20
	markMask = 1<<markBits - 1

	// topMark bounds marks from above if the system does not: half the range of a signed number,
	// some hundred thousand years in microseconds.
	topMark = 1 << 62

	// leastTop is the lowest bound from which marks are made: it leaves room for a prefix. A hard
	// limit below it (thirteen days) was set on purpose, and is not changed.
	leastTop = 1 << 40
)

// marks gives each process of a group its own mark; see package guard for what a mark is.
type marks struct {
	prefix uint64    // 0 if there are no marks on this system
	failed sync.Once // only the first failure is logged

	mu   sync.Mutex // protects the fields below
	last uint64
	live map[uint64]struct{} // marks of processes that are not reaped, which must not be used again
}

func newMarks() *marks {
	return &marks{prefix: newPrefix(markCeiling()), live: make(map[uint64]struct{})}
}

// newPrefix returns a random prefix in the upper half of the range below the ceiling. A host that
// is itself a marked plugin has its own mark as the ceiling, and gives its children lower marks.
func newPrefix(ceiling uint64) uint64 {
	top := min(ceiling, topMark)
	if top < leastTop {
		return 0
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	half := top / 2
	return (half + binary.NativeEndian.Uint64(random[:])%(half-markMask-1)) &^ markMask
}

// all returns the mark of the whole group.
func (m *marks) all() guard.Mark {
	if m.prefix == 0 {
		return guard.Mark{}
	}
	return guard.Mark{Value: m.prefix, Mask: ^uint64(markMask)}
}

// one returns the mark of the process with this value and of its descendants.
func (m *marks) one(value uint64) guard.Mark {
	if value == 0 {
		return guard.Mark{}
	}
	return guard.Mark{Value: value, Mask: ^uint64(0)}
}

// next returns a value that no running process of the group has, or 0 if there are no marks.
func (m *marks) next() uint64 {
	if m.prefix == 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		m.last = m.last%markMask + 1 // 1 … markMask
		value := m.prefix | m.last
		if _, taken := m.live[value]; !taken {
			m.live[value] = struct{}{}
			return value
		}
	}
}

// free releases a value after its process was reaped.
func (m *marks) free(value uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, value)
}

// Mark returns, as text, the mark that all processes of the group and their descendants have; "" if
// there are no marks. After the host has died, the mark shows whether a process that it started is
// still running.
func (g *Group) Mark() string {
	if all := g.marks.all(); all.Mask != 0 {
		return all.String()
	}
	return ""
}
