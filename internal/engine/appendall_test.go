package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

func TestAppendAll(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		t.Run("all records are stored in order", allInOrder(e))
		t.Run("a stored record is not added again", allOnce(e))
		t.Run("all or none", allOrNone(e))
		t.Run("an existing stream is changed to allow it", allLater(e))
		t.Run("the server accepts no records for a while", allAfterAWhile(e))
	})
}

func openTogether(t *testing.T, e *Engine, name string) Stream {
	t.Helper()
	s, err := e.Stream(t.Context(), StreamConfig{Name: name, Together: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// together makes records of two topics, with the data 0, 1, 2 …
func together(count int) []Append {
	records := make([]Append, count)
	for i := range records {
		records[i] = Append{Topic: []string{"a", "b"}[i%2], Data: []byte(fmt.Sprint(i)), ID: fmt.Sprint("id", i)}
	}
	return records
}

func allInOrder(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openTogether(t, e, "together")
		appendTo(t, s, "a", "before")
		if err := s.AppendAll(t.Context(), together(4)); err != nil {
			t.Fatal(err)
		}
		if err := s.AppendAll(t.Context(), nil); err != nil {
			t.Errorf("without a record: %v", err)
		}
		appendTo(t, s, "a", "behind")
		wantRecords(t, s, "1:a=before 2:a=0 3:b=1 4:a=2 5:b=3 6:a=behind")
	}
}

// allOnce sends records a second time, as a caller without an answer does.
func allOnce(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openTogether(t, e, "once")
		records := together(4)
		if err := s.AppendAll(t.Context(), records[:3]); err != nil {
			t.Fatal(err)
		}
		if err := s.AppendAll(t.Context(), records); err == nil {
			t.Error("stored records were added together with a new one")
		}
		for i, r := range records {
			if sequence, err := s.Append(t.Context(), r); err != nil || sequence != uint64(i+1) {
				t.Errorf("record %d: %d, %v", i, sequence, err)
			}
		}
		wantRecords(t, s, "1:a=0 2:b=1 3:a=2 4:b=3")
	}
}

func allOrNone(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openTogether(t, e, "none")
		spoil := map[string]func(*Append){
			"no id":                func(r *Append) { r.ID = "" },
			"a condition":          func(r *Append) { r.After = new(uint64) },
			"an id of two records": func(r *Append) { r.ID = "id1" },
			"too large":            func(r *Append) { r.Data = make([]byte, e.nc.MaxPayload()+1) },
		}
		for name, f := range spoil {
			records := together(5)
			f(&records[3])
			if err := s.AppendAll(t.Context(), records); err == nil {
				t.Errorf("%s: taken", name)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.AppendAll(ended, together(5)); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
		wantRecords(t, s, "")
	}
}

func allLater(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openStream(t, e, "later")
		appendTo(t, s, "a", "before")
		if err := s.AppendAll(t.Context(), together(2)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("not configured: %v", err)
		}
		s = openTogether(t, e, "later")
		if err := s.AppendAll(t.Context(), together(2)); err != nil {
			t.Error(err)
		}
		wantRecords(t, openStream(t, e, "later"), "1:a=before 2:a=0 3:b=1")
	}
}

// allAfterAWhile deletes the server's stream, as if a cluster were between two leaders, and creates
// it again. If a try reaches the new stream before that has a leader, it gets no answer. The test
// then adds the records one by one, as a caller must: nothing may be lost or stored twice.
func allAfterAWhile(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		s := openTogether(t, e, "while")
		if err := e.js.DeleteStream(t.Context(), s.(*stream).name); err != nil {
			t.Fatal(err)
		}
		stored := make(chan error, 1)
		go func() { stored <- s.AppendAll(t.Context(), together(4)) }()
		select {
		case err := <-stored:
			t.Fatalf("with no stream: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		s = openTogether(t, e, "while")
		err := <-stored
		if mayHaveArrived(err) {
			t.Log("one by one, because a try had no answer:", err)
			for _, r := range together(4) {
				if _, err := s.Append(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		} else if err != nil {
			t.Fatal(err)
		}
		wantRecords(t, s, "1:a=0 2:b=1 3:a=2 4:b=3")
	}
}

func wantRecords(t *testing.T, s Stream, want string) {
	t.Helper()
	records, err := s.Read(t.Context(), "", 0, 0)
	if got := show(records); err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// atOnce is how many records a child adds together.
const atOnce = 40

// TestKilledTogether kills processes that add many records together. Every acknowledged record is
// stored once and in order, batches are complete, and the store counts as undamaged.
func TestKilledTogether(t *testing.T) {
	dir := t.TempDir()
	acked := make(map[string]bool)
	for round := range soak.Times(2, 6) {
		c := startChild(t, "together", dir)
		c.awaitAcks(3 + 5*round)
		c.kill()
		for batch := range c.acked {
			acked[batch] = true
		}
		checkTogether(t, dir, acked)
	}
}

func checkTogether(t *testing.T, dir string, acked map[string]bool) {
	t.Helper()
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	if reports, err := e.Damage(); err != nil || len(reports) != 0 {
		t.Errorf("damage: %+v, %v", reports, err)
	}
	records, err := openTogether(t, e, "records").Read(t.Context(), "", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := make(map[string]int) // batch → the number of its next record
	for _, r := range records {
		batch, number, _ := strings.Cut(string(r.Data), "/")
		if want := fmt.Sprint(next[batch]); number != want {
			t.Fatalf("%s came instead of number %s", r.Data, want)
		}
		next[batch]++
	}
	for batch, count := range next {
		if count != atOnce {
			t.Errorf("%d records of %s", count, batch)
		}
	}
	for batch := range acked {
		if next[batch] == 0 {
			t.Errorf("%s was acknowledged, but is not stored", batch)
		}
	}
}

// appendTogether adds batches of records, and acknowledges each batch on stdout, until it is
// killed.
func appendTogether(dir string) error {
	ctx := context.Background()
	e, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	s, err := e.Stream(ctx, StreamConfig{Name: "records", Together: true})
	if err != nil {
		return err
	}
	for n := uint64(1); ; n++ {
		batch := fmt.Sprintf("%d-%d", os.Getpid(), n)
		records := make([]Append, atOnce)
		for i := range records {
			data := fmt.Sprintf("%s/%d", batch, i)
			records[i] = Append{Topic: "t", Data: []byte(data), ID: data}
		}
		if err := s.AppendAll(ctx, records); err != nil {
			return err
		}
		fmt.Println(n, batch)
	}
}
