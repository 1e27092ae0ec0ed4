package storage

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

// TestTheEarlierLayoutIsMoved: keys of the earlier layout are found, count as usage, and are moved
// once.
func TestTheEarlierLayoutIsMoved(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	bucket, err := e.Bucket(t.Context(), engine.BucketConfig{Name: "storage"})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"notes\x00a": "1", "notes\x00b/c\x00d": `"xy"`, "50%\x00a": "2", "other\x00a": "3",
		recordPrefix + "notes": `{"bytes":11,"keys":2}`,
		"other/a":              "4", // a move that was interrupted, after which the plugin wrote again
	} {
		if _, err := bucket.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // processes
		s := New(func(context.Context) (engine.Store, error) { return e, nil })
		notes := s.Plugin("notes", Quota{})
		if keys := entrytest.List(t, notes, ""); !reflect.DeepEqual(keys, []string{"a", "b/c\x00d"}) {
			t.Errorf("notes keeps %q", keys)
		}
		wantExact(t, notes)
		for name, want := range map[string]string{"notes": "1", "50%": "2", "other": "4"} {
			if v, _, err := s.Plugin(name, Quota{}).Get(t.Context(), "a"); err != nil || string(v) != want {
				t.Errorf("%s: %s, %v", name, v, err)
			}
		}
	}
	keys, err := bucket.Keys(t.Context(), "")
	if err != nil || len(keys) != 6 { // four, the record, the layout
		t.Errorf("%q, %v", keys, err)
	}
}

// read counts the values that were read.
type read struct {
	engine.Store
	keys, values map[string]int
}

func (r read) Bucket(ctx context.Context, c engine.BucketConfig) (engine.Bucket, error) {
	b, err := r.Store.Bucket(ctx, c)
	return readBucket{b, r}, err
}

type readBucket struct {
	engine.Bucket
	read read
}

func (b readBucket) Keys(ctx context.Context, prefix string) ([]string, error) {
	keys, err := b.Bucket.Keys(ctx, prefix)
	b.read.keys[prefix] += len(keys)
	return keys, err
}

func (b readBucket) Values(ctx context.Context, prefix string) ([]engine.Value, error) {
	values, err := b.Bucket.Values(ctx, prefix)
	b.read.values[prefix] += len(values)
	return values, err
}

// TestListAsksOnlyForItsOwnKeys: List asks the engine only for keys below the plugin's name, and
// for no values. TestKeysReadNoValues of internal/engine checks what the engine sends.
func TestListAsksOnlyForItsOwnKeys(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	r := read{e, make(map[string]int), make(map[string]int)}
	s := New(func(context.Context) (engine.Store, error) { return r, nil })
	for i := range 20 {
		entrytest.Put(t, s.Plugin("notes2", Quota{}), fmt.Sprint(i), "1")
	}
	entrytest.Put(t, s.Plugin("notes", Quota{}), "x/a", "1")
	clear(r.keys)
	if keys := entrytest.List(t, s.Plugin("notes", Quota{}), "x"); !reflect.DeepEqual(keys, []string{"x/a"}) {
		t.Errorf("%q", keys)
	}
	if !reflect.DeepEqual(r.keys, map[string]int{"notes/x": 1}) || len(r.values) != 0 {
		t.Errorf("asked for keys %v, values %v", r.keys, r.values)
	}
}
