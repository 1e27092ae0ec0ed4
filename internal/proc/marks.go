package proc

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

const (
	// markBits is how many low bits of a mark number the process; the rest is the group's own
	// random prefix.
	markBits = 20
	markMask = 1<<markBits - 1

	// topMark bounds marks from above where the system does not: half the range of a signed number,
	// in microseconds some hundred thousand years.
	topMark = 1 << 62

	// leastTop is the lowest bound that leaves room for a prefix. A limit below it (two weeks) was
	// set by someone who meant it, and is left alone.
	leastTop = 1 << 40
)

// marks gives each process of a group a number of its own to be marked with; see package guard for
// what a mark is.
type marks struct {
	prefix uint64    // 0: no marks on this system
	failed sync.Once // the first refusal is logged, no more

	mu   sync.Mutex // protects the fields below
	last uint64
	live map[uint64]struct{} // numbers of processes not reaped, never given out twice
}

func newMarks() *marks {
	return &marks{prefix: newPrefix(markCeiling()), live: make(map[uint64]struct{})}
}

// newPrefix draws a random prefix from the upper half of what the ceiling allows. A host that is
// itself a marked plugin has its own mark for a ceiling, and gives its children lower ones.
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

// all is the mark of the whole group.
func (m *marks) all() guard.Mark {
	if m.prefix == 0 {
		return guard.Mark{}
	}
	return guard.Mark{Value: m.prefix, Mask: ^uint64(markMask)}
}

// one is the mark of the process with this value and of its offspring.
func (m *marks) one(value uint64) guard.Mark {
	if value == 0 {
		return guard.Mark{}
	}
	return guard.Mark{Value: value, Mask: ^uint64(0)}
}

// next returns a value no living process of the group has, or 0 where there are no marks.
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

// free gives a value back once its process is reaped.
func (m *marks) free(value uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, value)
}

// Mark is what every process of the group bears, and whatever they start, as text; "" where there
// are no marks. Whoever finds the host dead can tell by it whether anything that the host started
// is still running.
func (g *Group) Mark() string {
	if all := g.marks.all(); all.Mask != 0 {
		return all.String()
	}
	return ""
}
