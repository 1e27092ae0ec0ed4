package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

// A tally is an engine that counts the synced writes, and the reads of single keys.
type tally struct {
	engine.Store
	mu     sync.Mutex // protects the fields below
	writes map[string]int
	reads  map[string]int
}

// tallied opens a core whose sessions are stored through a tally.
func tallied(h testHome) (*Core, *tally) {
	c := h.open("")
	y := &tally{Store: c.Engine, writes: make(map[string]int), reads: make(map[string]int)}
	holder := c.Sessions.Holder
	c.Sessions = sessionstore.New(y)
	c.Sessions.Holder = holder
	return c, y
}

func (y *tally) note(name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.writes[name]++
}

// take returns the writes since the last call, and resets the counts.
func (y *tally) take() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(y.writes)) {
		parts = append(parts, fmt.Sprint(name, " ", y.writes[name]))
	}
	y.writes = make(map[string]int)
	return strings.Join(parts, ", ")
}

func (y *tally) Bucket(ctx context.Context, c engine.BucketConfig) (engine.Bucket, error) {
	b, err := y.Store.Bucket(ctx, c)
	return tallyBucket{b, func() { y.note(c.Name) }, func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.reads[c.Name]++
	}}, err
}

func (y *tally) Stream(ctx context.Context, c engine.StreamConfig) (engine.Stream, error) {
	s, err := y.Store.Stream(ctx, c)
	return tallyStream{s, func() { y.note(c.Name) }, func() { y.note(c.Name + "-together") }}, err
}

type tallyBucket struct {
	engine.Bucket
	note func()
	read func()
}

func (b tallyBucket) Get(ctx context.Context, key string) (engine.Value, error) {
	b.read()
	return b.Bucket.Get(ctx, key)
}

func (b tallyBucket) Put(ctx context.Context, key string, data []byte) (uint64, error) {
	b.note()
	return b.Bucket.Put(ctx, key, data)
}

func (b tallyBucket) Create(ctx context.Context, key string, data []byte) (uint64, error) {
	b.note()
	return b.Bucket.Create(ctx, key, data)
}

func (b tallyBucket) Update(ctx context.Context, key string, data []byte, revision uint64) (uint64, error) {
	b.note()
	return b.Bucket.Update(ctx, key, data, revision)
}

func (b tallyBucket) Delete(ctx context.Context, key string) error {
	b.note()
	return b.Bucket.Delete(ctx, key)
}

func (b tallyBucket) DeleteAt(ctx context.Context, key string, revision uint64) error {
	b.note()
	return b.Bucket.DeleteAt(ctx, key, revision)
}

type tallyStream struct {
	engine.Stream
	note     func()
	together func()
}

func (s tallyStream) Append(ctx context.Context, r engine.Append) (uint64, error) {
	s.note()
	return s.Stream.Append(ctx, r)
}

func (s tallyStream) AppendAll(ctx context.Context, records []engine.Append) error {
	s.together()
	return s.Stream.AppendAll(ctx, records)
}

func (s tallyStream) Purge(ctx context.Context, topic string) error {
	s.note()
	return s.Stream.Purge(ctx, topic)
}

// TestWritesOfATurn checks that a turn waits for four writes, and that three events are written in
// the background.
func TestWritesOfATurn(t *testing.T) {
	h := newTestHome(t)
	c, y := tallied(h)
	id := h.session(c)
	h.say(c, id, "the first message gives the session its title")
	y.take()
	for i := range 3 {
		h.say(c, id, fmt.Sprint("message ", i))
		if got := y.take(); got != "transcripts 4" {
			t.Errorf("got %s", got)
		}
	}
	if err := c.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	c.Journal = journal.New(y, journal.Options{})
	h.say(c, id, "with events")
	if err := c.Journal.Close(); err != nil { // so that all events are written
		t.Fatal(err)
	}
	if got := y.take(); got != "events 3, transcripts 4" {
		t.Errorf("got %s", got)
	}
}

// TestReadsOfATurn checks that a message over HTTP reads the session's record twice: when the turn
// begins, and after its first entry, in case the session was deleted meanwhile.
func TestReadsOfATurn(t *testing.T) {
	h := newTestHome(t)
	c, y := tallied(h)
	id := h.session(c)
	h.say(c, id, "the first message gives the session its title")
	y.mu.Lock()
	clear(y.reads)
	y.mu.Unlock()
	h.say(c, id, "another message")
	y.mu.Lock()
	defer y.mu.Unlock()
	if got := y.reads["sessions"]; got != 2 {
		t.Errorf("the record was read %d times", got)
	}
}
