package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
)

// watched is an engine whose streams are watched, and may fail to write together.
type watched struct {
	engine.Store
	before bool  // fails before it writes; else after
	fails  error // nil: it does not

	mu       sync.Mutex // protects the fields below
	together []int      // how many records were written each time
	alone    int
}

func (w *watched) Stream(ctx context.Context, c engine.StreamConfig) (engine.Stream, error) {
	s, err := w.Store.Stream(ctx, c)
	return watchedStream{s, w}, err
}

type watchedStream struct {
	engine.Stream
	*watched
}

func (s watchedStream) Append(ctx context.Context, r engine.Append) (uint64, error) {
	s.mu.Lock()
	s.alone++
	s.mu.Unlock()
	return s.Stream.Append(ctx, r)
}

func (s watchedStream) AppendAll(ctx context.Context, records []engine.Append) error {
	s.mu.Lock()
	s.together = append(s.together, len(records))
	s.mu.Unlock()
	if s.before {
		return s.fails
	}
	return errors.Join(s.Stream.AppendAll(ctx, records), s.fails)
}

// burst fills the queue of a journal whose engine does not answer meanwhile.
func burst(t *testing.T, w *watched) *Journal {
	t.Helper()
	stuck := newStuck(w)
	j := New(stuck, Options{})
	for i := range maxQueued {
		if !j.Post("k", fmt.Sprint("ses", i%7), json.RawMessage(fmt.Sprint(i))) {
			t.Fatalf("event %d was dropped", i)
		}
	}
	close(stuck.free)
	awaitDrained(t, j)
	return j
}

// awaitDrained waits until the queue is empty. Close waits only closeTimeout, which is too short
// for a full queue on a busy machine.
func awaitDrained(t *testing.T, j *Journal) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		j.queue.mu.Lock()
		waiting := j.queue.events
		j.queue.mu.Unlock()
		if waiting == 0 {
			return
		}
	}
	t.Fatal("events still wait")
}

// wantBurst expects each event once, in order.
func wantBurst(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil || j.Dropped() != 0 {
		t.Errorf("%d dropped, %v", j.Dropped(), err)
	}
	events, err := j.Read(t.Context(), 0, Filter{}, 0)
	if err != nil || len(events) != maxQueued {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, e := range events {
		if string(e.Data) != fmt.Sprint(i) || e.Session != fmt.Sprint("ses", i%7) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
}

// TestBurst posts more events than a disk can write one by one.
func TestBurst(t *testing.T) {
	t.Run("many events are written together", func(t *testing.T) {
		w := &watched{Store: embedded.Engine(t, t.TempDir())}
		wantBurst(t, burst(t, w))
		if w.alone >= 2*minTogether || len(w.together) > maxQueued/maxTogether+2 {
			t.Errorf("%d alone, together: %v", w.alone, w.together)
		}
	})
	for name, before := range map[string]bool{"before": true, "after": false} {
		t.Run("events that fail together "+name+" they were written are written one by one, once", func(t *testing.T) {
			w := &watched{Store: embedded.Engine(t, t.TempDir()), before: before, fails: errors.New("no answer")}
			wantBurst(t, burst(t, w))
			if w.alone != maxQueued {
				t.Errorf("%d alone", w.alone)
			}
		})
	}
	t.Run("the journal says how many events were dropped", func(t *testing.T) {
		stuck := newStuck(embedded.Engine(t, t.TempDir()))
		j := New(stuck, Options{})
		for range maxQueued + 5 {
			j.Post("k", "", json.RawMessage("1"))
		}
		close(stuck.free)
		awaitDrained(t, j)
		for range 2 { // they are reported once
			j.Post("k", "", json.RawMessage("1"))
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, j, 0, Filter{Kinds: []string{droppedKind}}, 0); got != `{"count":5,"total":5}` {
			t.Errorf("got %s", got)
		}
	})
}

// TestGather: an event waits for others, up to a limit, only if take is told to gather.
func TestGather(t *testing.T) {
	q := newQueue()
	defer q.cancel()
	for range 3 {
		q.waiting <- posting{kind: "k"}
	}
	if got := q.take(0); len(got) != 3 {
		t.Errorf("%d events were taken at once, wanted 3", len(got))
	}
	go func() {
		for range maxTogether + 2 {
			q.waiting <- posting{kind: "k"}
		}
		close(q.waiting)
	}()
	for _, want := range []int{maxTogether, 2, 0} { // no call waits for an hour: the batch is full, or the queue is closed
		if got := q.take(time.Hour); len(got) != want {
			t.Errorf("%d events were gathered, wanted %d", len(got), want)
		}
	}
	late := newQueue()
	defer late.cancel()
	late.waiting <- posting{kind: "k"}
	if got := late.take(time.Millisecond); len(got) != 1 {
		t.Errorf("%d events were gathered, wanted 1", len(got))
	}
}
