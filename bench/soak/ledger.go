package main

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// remembered is how many of the newest events the ledger stores. A replay reads only these, and no
// follower is so many events behind.
const remembered = 1 << 17

// manyFaults is the number of faults of one kind that ends the soak.
const manyFaults = 1000

// A seen is an event as the first follower saw it.
type seen struct {
	id      uint64
	kind    string
	session string
	sum     uint32 // of its data
}

// An end is the event that says that a turn is over.
type end struct {
	turn string
	id   uint64
}

// A ledger stores what all followers have seen, and counts the faults.
type ledger struct {
	messages atomic.Int64 // acknowledged
	compared atomic.Int64 // found in a transcript
	sessions atomic.Int64 // deleted
	notes    atomic.Int64 // stored, read back and deleted
	commands atomic.Int64 // seen by the process-per-call plugin
	replays  atomic.Int64
	replayed atomic.Int64 // events
	excused  atomic.Int64 // missing ids of deleted sessions

	mu       sync.Mutex      // protects the fields below
	head     uint64          // the newest id
	ring     []seen          // by id modulo remembered
	ends     map[string]end  // the last turn's end of each session that is not deleted
	deleted  map[string]bool // sessions
	faults   map[string]int  // how often, by kind
	examples []string
	abort    func()
}

func newLedger(abort func()) *ledger {
	return &ledger{ring: make([]seen, remembered), ends: make(map[string]end), deleted: make(map[string]bool), faults: make(map[string]int), abort: abort}
}

// fault counts a fault of one kind.
func (l *ledger) fault(kind, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[kind]++
	if l.faults[kind] <= 3 {
		l.examples = append(l.examples, kind+": "+fmt.Sprintf(format, args...))
	}
	if l.faults[kind] == manyFaults {
		l.abort()
	}
}

func (l *ledger) faultsOf(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults[kind]
}

// note stores an event that a follower has seen, and reports whether other followers saw the same
// event under that id.
func (l *ledger) note(e drive.Event, session, turn string, sum uint32) (same bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.ID > l.head {
		l.head = e.ID
	}
	if e.Kind == "turn.finished" && !l.deleted[session] && e.ID > l.ends[session].id {
		l.ends[session] = end{turn, e.ID}
	}
	at := &l.ring[e.ID%remembered]
	if at.id == e.ID {
		return at.sum == sum
	}
	if at.id < e.ID {
		*at = seen{e.ID, e.Kind, session, sum}
	}
	return true
}

// excuse reports whether a missing id belongs to a deleted session.
func (l *ledger) excuse(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.ring[id%remembered]
	return at.id == id && l.deleted[at.session]
}

// endOf returns the id of the event that ended a session's last turn. It returns 0 if no follower
// has seen that event.
func (l *ledger) endOf(session, turn string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.ends[session]; e.turn == turn {
		return e.id
	}
	return 0
}

// markDeleted notes that a session is about to be deleted.
func (l *ledger) markDeleted(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted[session] = true
	delete(l.ends, session)
}

func (l *ledger) newest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// at returns the event with an id, if it is still stored.
func (l *ledger) at(id uint64) (seen, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ring[id%remembered]
	return e, e.id == id
}
