package sessionstore

import (
	"container/list"
	"sync"
)

// maxTails bounds what a store keeps in memory of conversations in which no turn is running: some
// dozens that are as long as a model can take.
const maxTails = 32 << 20

// tails are conversations that were read or written here before. Whether anybody else went on with
// one shows when a turn begins: its first entry must stand behind the last one that we know of. The
// zero value is empty. It is safe for concurrent use.
type tails struct {
	mu    sync.Mutex // protects the fields below
	by    map[string]*list.Element
	used  list.List // of *tail; the one used last is first
	bytes int
}

type tail struct {
	id    string
	state *state
	bytes int
}

// take hands a conversation to its only owner; nil: it is not known.
func (t *tails) take(id string) *state {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.by[id]
	if at == nil {
		return nil
	}
	return t.remove(at).state
}

// put keeps a conversation that its owner has no more use for. Those that were not used for the
// longest time make room.
func (t *tails) put(id string, s *state) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.by[id]; at != nil {
		t.remove(at)
	}
	if t.by == nil {
		t.by = make(map[string]*list.Element)
	}
	one := &tail{id, s, frameBytes + s.bytes}
	t.by[id] = t.used.PushFront(one)
	for t.bytes += one.bytes; t.bytes > maxTails; {
		t.remove(t.used.Back())
	}
}

// remove is called with mu held.
func (t *tails) remove(at *list.Element) *tail {
	one := t.used.Remove(at).(*tail)
	delete(t.by, one.id)
	t.bytes -= one.bytes
	return one
}
