package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

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
	entrytest.Quotas(t, openSuite, func(t *testing.T, b entrytest.Bucket) { wantExact(t, b.(Bucket)) })
	if q := (Quota{}).Whole(); q != (Quota{Bytes: 64 << 20, Keys: 10_000}) {
		t.Errorf("the defaults are %+v", q)
	}
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
	e := embedded.Engine(t, t.TempDir())
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
		entrytest.Put(t, b, fmt.Sprint(i), "1")
	}
	if n := listed.Load(); n != 1 {
		t.Errorf("listed %d times for the first 50 values, want once for the first", n)
	}
	b = reopen().Plugin("notes", Quota{Keys: 50}) // another process
	entrytest.Put(t, b, "1", "2")
	if n := listed.Load(); n != 1 {
		t.Errorf("another process lists again")
	}
	for range 50 { // a plugin that tries again and again
		entrytest.WantFull(t, b.Put(t.Context(), "one more", json.RawMessage("1")))
	}
	if n := listed.Load(); n != 1 {
		t.Errorf("listed %d times, although nothing contradicts the record", n)
	}
	for range 50 {
		b.store.account("notes").since = time.Now().Add(-time.Hour) // the record has been the same for long
		entrytest.WantFull(t, b.Put(t.Context(), "one more", json.RawMessage("1")))
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
	if _, err := bucket.Put(t.Context(), b.prefix+"old", entrytest.Text(900)); err != nil {
		t.Fatal(err)
	}
	entrytest.WantFull(t, b.Put(t.Context(), "new", entrytest.Text(200)))
	entrytest.Put(t, b, "new", entrytest.Text(90))
	wantExact(t, b)
	spoil := func(record string) Bucket {
		if _, err := bucket.Put(t.Context(), recordPrefix+"notes", []byte(record)); err != nil {
			t.Fatal(err)
		}
		return (&Store{open: s.open, bucket: bucket}).Plugin("notes", Quota{Bytes: 1000}) // another process
	}
	for _, record := range []string{`{"bytes":-5,"keys":1}`, `nonsense`} {
		fresh := spoil(record)
		entrytest.Put(t, fresh, "new", entrytest.Text(91))
		entrytest.Put(t, fresh, "new", entrytest.Text(90))
		wantExact(t, fresh)
	}
	fresh := spoil(`{"bytes":1000000,"keys":7}`)
	entrytest.WantFull(t, fresh.Put(t.Context(), "new", entrytest.Text(91))) // another writer may have reserved the room and be about to write
	fresh.store.account("notes").since = time.Now().Add(-quietTime)
	entrytest.Put(t, fresh, "new", entrytest.Text(91))
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
	entrytest.Put(t, one, "a", "1")
	entrytest.WantFull(t, other.Put(t.Context(), "b", json.RawMessage("1")))
	if err := other.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	entrytest.Put(t, one, "b", "1")
	entrytest.WantFull(t, other.Put(t.Context(), "c", json.RawMessage("1")))
	wantExact(t, one)
}

// Processes that store at the same time, even under the same keys, stay within the limit together,
// and their record has the real usage.
func TestProcessesShareOneLimit(t *testing.T) {
	dir := t.TempDir()
	var buckets []Bucket
	for range 3 {
		e := embedded.Engine(t, dir)
		buckets = append(buckets, New(func(context.Context) (engine.Store, error) { return e, nil }).Plugin("notes", Quota{Bytes: 5000, Keys: 20}))
	}
	var work sync.WaitGroup
	var refused atomic.Int64
	for p, b := range buckets {
		for g := range 2 {
			work.Go(func() {
				for i := range 20 {
					key := fmt.Sprint("key", (i*7+g+p)%25)
					err := b.Put(t.Context(), key, entrytest.Text(100+(i*37+p*11+g)%300))
					if errors.Is(err, entry.ErrFull) {
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
