package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// text returns a JSON string of size bytes.
func text(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }

func wantFull(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, ErrFull) {
		t.Fatalf("err = %v, want that the storage is full", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// wantExact checks that the record has the real usage.
func wantExact(t *testing.T, b Bucket) {
	t.Helper()
	bucket, err := b.store.openBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	truth, err := count(t.Context(), bucket, b.prefix)
	if err != nil {
		t.Fatal(err)
	}
	v, err := bucket.Get(t.Context(), recordPrefix+b.name)
	if err != nil {
		t.Fatal(err)
	}
	if on, ok := decodeUsage(v.Data); !ok || on != truth {
		t.Errorf("the record has %+v, the real usage is %+v", on, truth)
	}
}

func TestStorageOfAPluginIsLimited(t *testing.T) {
	t.Run("in bytes, of keys and values", func(t *testing.T) {
		b := open(t).Plugin("notes", Quota{Bytes: 1000})
		put(t, b, "a", string(text(599)))
		put(t, b, "b", string(text(399)))
		wantFull(t, b.Put(t.Context(), "c", json.RawMessage("1")), "plugin notes", "1000 bytes", "limits.storage", "[plugins.notes.limits]")
		wantFull(t, b.Put(t.Context(), "a", text(600)))
		if v, ok, err := b.Get(t.Context(), "a"); err != nil || !ok || len(v) != 599 {
			t.Errorf("the old value: %d bytes, %v", len(v), err)
		}
		put(t, b, "a", string(text(597))) // smaller
		put(t, b, "c", "1")
		wantFull(t, b.Put(t.Context(), "d", json.RawMessage("1")))
		if err := b.Delete(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		put(t, b, "d", string(text(399)))
		put(t, b, "d", string(text(399))) // the same again
		wantExact(t, b)
	})
	t.Run("in the number of keys", func(t *testing.T) {
		b := open(t).Plugin("notes", Quota{Keys: 3})
		for _, key := range []string{"a", "b", "c"} {
			put(t, b, key, "1")
		}
		wantFull(t, b.Put(t.Context(), "d", json.RawMessage("1")), "3 keys", "limits.storage_keys")
		put(t, b, "a", `"longer"`) // no new key
		for range 2 {              // the second time there is nothing to delete
			if err := b.Delete(t.Context(), "b"); err != nil {
				t.Fatal(err)
			}
		}
		put(t, b, "d", "1")
		wantFull(t, b.Put(t.Context(), "e", json.RawMessage("1")))
		wantExact(t, b)
	})
	t.Run("for each plugin separately", func(t *testing.T) {
		s := open(t)
		put(t, s.Plugin("one", Quota{Keys: 1}), "a", "1")
		put(t, s.Plugin("two", Quota{Keys: 1}), "a", "1")
		wantFull(t, s.Plugin("one", Quota{Keys: 1}).Put(t.Context(), "b", json.RawMessage("1")))
	})
	t.Run("by default to 64 MiB and 10,000 keys", func(t *testing.T) {
		if q := (Quota{}).Whole(); q != (Quota{Bytes: 64 << 20, Keys: 10_000}) {
			t.Errorf("%+v", q)
		}
	})
	t.Run("a plugin over a lowered limit may replace values by smaller ones, and delete them", func(t *testing.T) {
		s := open(t)
		put(t, s.Plugin("notes", Quota{}), "a", string(text(100)))
		put(t, s.Plugin("notes", Quota{}), "b", string(text(100)))
		b := s.Plugin("notes", Quota{Bytes: 50, Keys: 1})
		put(t, b, "a", string(text(90)))
		wantFull(t, b.Put(t.Context(), "a", text(91)))
		if err := b.Delete(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		put(t, b, "a", string(text(49)))
		wantExact(t, b)
	})
}

// counted is an engine that counts how often its buckets are listed.
type counted struct {
	engine.Store
	listed *atomic.Int64
}

func (c counted) Bucket(ctx context.Context, conf engine.BucketConfig) (engine.Bucket, error) {
	b, err := c.Store.Bucket(ctx, conf)
	return countedBucket{b, c.listed}, err
}

type countedBucket struct {
	engine.Bucket
	listed *atomic.Int64
}

func (b countedBucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	b.listed.Add(1)
	return b.Bucket.Keys(ctx, prefix)
}

func (b countedBucket) Values(ctx context.Context, prefix string) ([]engine.Value, error) {
	b.listed.Add(1)
	return b.Bucket.Values(ctx, prefix)
}

func (b countedBucket) Sizes(ctx context.Context, prefix string) ([]engine.Size, error) {
	b.listed.Add(1)
	return b.Bucket.Sizes(ctx, prefix)
}

func TestPutListsNoKeys(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var listed atomic.Int64
	reopen := func() *Store {
		return New(func(context.Context) (engine.Store, error) { return counted{e, &listed}, nil })
	}
	b := reopen().Plugin("notes", Quota{Keys: 50})
	if err := b.Delete(t.Context(), "none"); err != nil { // opens the store, which looks for the old layout
		t.Fatal(err)
	}
	listed.Store(0)
	for i := range 50 {
		put(t, b, fmt.Sprint(i), "1")
	}
	if n := listed.Load(); n != 1 {
		t.Errorf("listed %d times for the first 50 values, want once for the first", n)
	}
	b = reopen().Plugin("notes", Quota{Keys: 50}) // another process
	put(t, b, "1", "2")
	if n := listed.Load(); n != 1 {
		t.Errorf("another process lists again")
	}
	for range 50 { // a plugin that tries again and again
		wantFull(t, b.Put(t.Context(), "one more", json.RawMessage("1")))
	}
	if n := listed.Load(); n != 1 {
		t.Errorf("listed %d times, although nothing contradicts the record", n)
	}
	for range 50 {
		b.store.account("notes").since = time.Now().Add(-time.Hour) // the record has been the same for long
		wantFull(t, b.Put(t.Context(), "one more", json.RawMessage("1")))
	}
	if n := listed.Load(); n != 2 {
		t.Errorf("listed %d times, want once more for all refusals together", n)
	}
}

// TestAWrongRecordIsReplaced: a missing or broken record is replaced by a count of everything, and
// so is one with quota that a dead process has reserved.
func TestAWrongRecordIsReplaced(t *testing.T) {
	s := open(t)
	bucket, err := s.openBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := s.Plugin("notes", Quota{Bytes: 1000})
	if _, err := bucket.Put(t.Context(), b.prefix+"old", text(900)); err != nil {
		t.Fatal(err)
	}
	wantFull(t, b.Put(t.Context(), "new", text(200)))
	put(t, b, "new", string(text(90)))
	wantExact(t, b)
	spoil := func(record string) Bucket {
		if _, err := bucket.Put(t.Context(), recordPrefix+"notes", []byte(record)); err != nil {
			t.Fatal(err)
		}
		return (&Store{open: s.open, bucket: bucket}).Plugin("notes", Quota{Bytes: 1000}) // another process
	}
	for _, record := range []string{`{"bytes":-5,"keys":1}`, `nonsense`} {
		fresh := spoil(record)
		put(t, fresh, "new", string(text(91)))
		put(t, fresh, "new", string(text(90)))
		wantExact(t, fresh)
	}
	fresh := spoil(`{"bytes":1000000,"keys":7}`)
	wantFull(t, fresh.Put(t.Context(), "new", text(91))) // another writer may have reserved the room and be about to write
	fresh.store.account("notes").since = time.Now().Add(-quietTime)
	put(t, fresh, "new", string(text(91)))
	wantExact(t, fresh)
}

// A refusal depends on the current record, not on the one that this process last read.
func TestRoomThatAnotherProcessMadeIsUsed(t *testing.T) {
	s := open(t)
	bucket, err := s.openBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := s.Plugin("notes", Quota{Keys: 1})
	other := (&Store{open: s.open, bucket: bucket}).Plugin("notes", Quota{Keys: 1})
	put(t, one, "a", "1")
	wantFull(t, other.Put(t.Context(), "b", json.RawMessage("1")))
	if err := other.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	put(t, one, "b", "1")
	wantFull(t, other.Put(t.Context(), "c", json.RawMessage("1")))
	wantExact(t, one)
}

// Processes that store at the same time, even under the same keys, stay within the limit together,
// and their record has the real usage.
func TestProcessesShareOneLimit(t *testing.T) {
	dir := t.TempDir()
	var buckets []Bucket
	for range 3 {
		e, err := engine.Open(t.Context(), engine.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		buckets = append(buckets, New(func(context.Context) (engine.Store, error) { return e, nil }).Plugin("notes", Quota{Bytes: 5000, Keys: 20}))
	}
	var work sync.WaitGroup
	var refused atomic.Int64
	for p, b := range buckets {
		for g := range 2 {
			work.Go(func() {
				for i := range 20 {
					key := fmt.Sprint("key", (i*7+g+p)%25)
					err := b.Put(t.Context(), key, text(100+(i*37+p*11+g)%300))
					if errors.Is(err, ErrFull) {
						refused.Add(1)
						err = nil
					}
					if err == nil && i%3 == 0 {
						err = b.Delete(t.Context(), key)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	work.Wait()
	wantExact(t, buckets[0])
	bucket, _ := buckets[0].store.openBucket(t.Context())
	if used, err := count(t.Context(), bucket, buckets[0].prefix); err != nil || used.Bytes > 5000 || used.Keys > 20 {
		t.Errorf("%+v are kept, %v", used, err)
	}
	t.Logf("%d puts were refused", refused.Load())
}
