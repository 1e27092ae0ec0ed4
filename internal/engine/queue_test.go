package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

func TestQueue(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		t.Run("an item goes to one taker", oneTaker(e))
		t.Run("an item with the same id is added once, even when it is done", sameID(e))
		t.Run("a job that is given back comes again", givenBack(e))
		t.Run("a job that no taker can do is dropped", dropped(e))
		t.Run("take ends with its context", takeEnds(e))
	})
}

func oneTaker(e *Engine) func(*testing.T) {
	const items, takers = 40, 4
	return func(t *testing.T) {
		q := openQueue(t, e, QueueConfig{Name: "one"})
		for i := range items {
			putItem(t, q, Item{Data: []byte(fmt.Sprint(i))})
		}
		if n, err := q.Len(t.Context()); err != nil || n != items {
			t.Errorf("%d waiting, %v", n, err)
		}
		var mu sync.Mutex
		taken := make(map[string]int)
		var all sync.WaitGroup
		for range takers {
			all.Go(func() {
				for range items / takers {
					j := takeJob(t, q)
					if j == nil {
						return
					}
					mu.Lock()
					taken[string(j.Data)]++
					mu.Unlock()
					if err := j.Ack(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if len(taken) != items {
			t.Errorf("%d of %d: %v", len(taken), items, taken)
		}
		awaitEmpty(t, q)
	}
}

func sameID(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		q := openQueue(t, e, QueueConfig{Name: "same"})
		tick := Item{ID: "backup @ 12:00", Data: []byte("tick")}
		putItem(t, q, tick)
		putItem(t, q, tick)
		j := takeJob(t, q)
		putItem(t, q, tick)
		if err := j.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		putItem(t, q, tick)
		awaitEmpty(t, q)
	}
}

func givenBack(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		q := openQueue(t, e, QueueConfig{Name: "back"})
		putItem(t, q, Item{Data: []byte("x")})
		for want := 1; want <= 3; want++ {
			j := takeJob(t, q)
			if j.Deliveries != want {
				t.Errorf("delivery %d, want %d", j.Deliveries, want)
			}
			if err := j.Nak(t.Context(), 10*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func dropped(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		q := openQueue(t, e, QueueConfig{Name: "drop", MaxDeliver: 2})
		putItem(t, q, Item{Data: []byte("bad")})
		for range 2 {
			if err := takeJob(t, q).Nak(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		putItem(t, q, Item{Data: []byte("good")})
		j := takeJob(t, q)
		if string(j.Data) != "good" {
			t.Errorf("%s comes a third time", j.Data)
		}
		if err := j.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := q.Take(ctx)
			done <- err
		}()
		awaitEmpty(t, q)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a taker that waits for more: %v", err)
		}
	}
}

func takeEnds(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		q := openQueue(t, e, QueueConfig{Name: "empty"})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if j, err := q.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", j, err)
		}
	}
}

func TestAJobOfASilentTakerComesAgain(t *testing.T) {
	t.Parallel() // waits most of the time
	q := openQueue(t, open(t, Options{Dir: t.TempDir()}), QueueConfig{Name: "silent", AckWait: time.Second})
	putItem(t, q, Item{Data: []byte("x")})
	takeJob(t, q)
	if again := takeJob(t, q); again.Deliveries != 2 {
		t.Errorf("delivery %d", again.Deliveries)
	}
}

// TestQueueRestart checks items that are done: after a restart the server itself no longer
// remembers their ids.
func TestQueueRestart(t *testing.T) {
	dir := t.TempDir()
	tick := Item{ID: "tick", Data: []byte("x")}
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	q := openQueue(t, e, QueueConfig{Name: "q"})
	putItem(t, q, tick)
	j := takeJob(t, q)

	guest := open(t, Options{Dir: dir})
	other := openQueue(t, guest, QueueConfig{Name: "q"})
	t.Run("a job is done once although another process becomes the owner", func(t *testing.T) {
		if err := j.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		putItem(t, other, tick)
		awaitEmpty(t, other)
	})
	t.Run("a running job stays with its taker", func(t *testing.T) {
		putItem(t, other, Item{ID: "tock"})
		if err := takeJob(t, other).Ack(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func openQueue(t *testing.T, e *Engine, c QueueConfig) Queue {
	t.Helper()
	q, err := e.Queue(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func putItem(t *testing.T, q Queue, item Item) {
	t.Helper()
	if err := q.Put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

// awaitEmpty waits until the queue is empty. The servers of a cluster remove done items a moment
// later.
func awaitEmpty(t *testing.T, q Queue) {
	t.Helper()
	eventually.True(t, "the queue is empty", func() bool {
		n, err := q.Len(t.Context())
		if err != nil {
			t.Error(err)
		}
		return n == 0
	})
}

// takeJob takes a job, or fails the test and returns nil.
func takeJob(t *testing.T, q Queue) *Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	j, err := q.Take(ctx)
	if err != nil {
		t.Error(err)
	}
	return j
}
