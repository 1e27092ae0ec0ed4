package main

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// remembered is how many of the newest events the ledger knows: those a replay may read, and more
// than any follower is behind.
const remembered = 1 << 17

// manyFaults ends the soak: what comes after is not worth waiting for.
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

// A ledger is what all followers have seen, and what went wrong.
type ledger struct {
	messages atomic.Int64 // acknowledged
	compared atomic.Int64 // found in a transcript
	sessions atomic.Int64 // deleted
	notes    atomic.Int64 // stored, read back and deleted
	commands atomic.Int64 // that the process-per-call plugin saw
	replays  atomic.Int64
	replayed atomic.Int64 // events
	excused  atomic.Int64 // holes that deleted sessions have left

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

// fault counts something that must not be.
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

// note keeps what a follower has seen, and tells whether it is what others saw under that id.
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

// excuse tells whether an id that was not sent is of a session that is deleted.
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

// gone notes that a session is about to be deleted.
func (l *ledger) gone(session string) {
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

// at is the event with an id, where it is still remembered.
func (l *ledger) at(id uint64) (seen, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ring[id%remembered]
	return e, e.id == id
}
