package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSizes: the keys with a prefix are listed with the sizes of their last values.
func TestSizes(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		b := openBucket(t, e, BucketConfig{Name: "sizes"})
		if sizes, err := b.Sizes(t.Context(), "a/"); err != nil || len(sizes) != 0 {
			t.Errorf("of an empty bucket: %v, %v", sizes, err)
		}
		for i := range batchMessages + 10 { // more than one batch
			put(t, b, fmt.Sprintf("many/%04d", i), "v")
		}
		for key, size := range map[string]int{"a/1": 0, "a/2": 10, "a/gone": 5, "ab": 7, "a": 3, "a/b/c": 100_000} {
			put(t, b, key, strings.Repeat("x", size))
		}
		put(t, b, "a/2", "shorter")
		if err := b.Delete(t.Context(), "a/gone"); err != nil {
			t.Fatal(err)
		}
		if sizes, err := b.Sizes(t.Context(), "a/"); err != nil || !slices.Equal(sizes, []Size{{"a/1", 0}, {"a/2", 7}, {"a/b/c", 100_000}}) {
			t.Errorf("%v, %v", sizes, err)
		}
		if sizes, err := b.Sizes(t.Context(), "a"); err != nil || len(sizes) != 5 {
			t.Errorf("%v, %v", sizes, err)
		}
		keys, err := b.Keys(t.Context(), "many/")
		if err != nil || len(keys) != batchMessages+10 || keys[0] != "many/0000" || !slices.IsSorted(keys) {
			t.Errorf("%d keys, %.100v, %v", len(keys), keys, err)
		}
	})
}

// TestKeysReadNoValues checks that the server sends no values for a list of keys, and nothing
// outside of the prefix.
func TestKeysReadNoValues(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	b := openBucket(t, e, BucketConfig{Name: "lean"})
	value := strings.Repeat("x", 10_000)
	for i := range 100 {
		put(t, b, fmt.Sprintf("other/%d", i), value)
	}
	for i := range 10 {
		put(t, b, fmt.Sprintf("own/%d", i), value)
	}
	before := e.nc.Stats()
	keys, err := b.Keys(t.Context(), "own/")
	after := e.nc.Stats()
	if err != nil || len(keys) != 10 {
		t.Fatalf("%q, %v", keys, err)
	}
	if n := after.InBytes - before.InBytes; n > 20_000 {
		t.Errorf("the server sent %d bytes for ten keys", n)
	}
	if n := after.InMsgs - before.InMsgs; n > 30 {
		t.Errorf("the server sent %d messages for ten keys", n)
	}
}
