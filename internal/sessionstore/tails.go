package sessionstore

import (
	"container/list"
	"sync"
)

// maxTails limits the memory for conversations without a running turn. It is enough for some dozens
// that are as long as a model allows.
const maxTails = 32 << 20

// tails caches conversations that this store read or wrote. Another process may have continued one.
// That is noticed when a turn begins, because its first entry must follow the last one in the
// cache. The zero value is empty. It is safe for concurrent use.
type tails struct {
	mu    sync.Mutex // protects the fields below
	by    map[string]*list.Element
	used  list.List // of *tail; the most recently used is first
	bytes int
}

type tail struct {
	id    string
	state *state
	bytes int
}

// take removes a conversation from the cache and returns it. It returns nil if the conversation is
// not there.
func (t *tails) take(id string) *state {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.by[id]
	if at == nil {
		return nil
	}
	return t.remove(at).state
}

// put adds a conversation that its owner no longer uses. It removes the least recently used ones if
// the cache becomes too large.
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

// remove removes an element. The caller holds mu.
func (t *tails) remove(at *list.Element) *tail {
	one := t.used.Remove(at).(*tail)
	delete(t.by, one.id)
	t.bytes -= one.bytes
	return one
}
