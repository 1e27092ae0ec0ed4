package engine

import (
	"fmt"
	"slices"
	"testing"
)

// TestGetAll: the values come in the order of the keys, without keys that were never written or are
// deleted.
func TestGetAll(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		b := openBucket(t, e, BucketConfig{Name: "many"})
		var keys, want []string
		for i := range manyKeys + 40 {
			key := fmt.Sprint("key ", i)
			keys = append(keys, key)
			if i%50 == 1 { // never written
				continue
			}
			if _, err := b.Put(t.Context(), key, []byte(key)); err != nil {
				t.Fatal(err)
			}
			if i%50 == 2 { // deleted
				if err := b.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want = append(want, key)
		}
		slices.Reverse(keys)
		slices.Reverse(want)
		values, err := b.GetAll(t.Context(), keys)
		var got []string
		for _, v := range values {
			if string(v.Data) != v.Key || v.Revision == 0 || v.Time.IsZero() {
				t.Errorf("got %+v", v)
			}
			got = append(got, v.Key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %d of %d values, %v", len(got), len(want), err)
		}
		if none, err := b.GetAll(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of no keys: %v, %v", none, err)
		}
	})
}

// TestGetAllOfLargeValues checks that GetAll asks again for values that the server cut because of
// their size.
func TestGetAllOfLargeValues(t *testing.T) {
	b := openBucket(t, open(t, Options{Dir: t.TempDir()}), BucketConfig{Name: "large"})
	var keys []string
	for i := range 5 {
		keys = append(keys, fmt.Sprint(i))
		if _, err := b.Put(t.Context(), keys[i], make([]byte, batchBytes/2-headroom)); err != nil {
			t.Fatal(err)
		}
	}
	values, err := b.GetAll(t.Context(), keys)
	if err != nil || len(values) != len(keys) {
		t.Errorf("%d of %d values, %v", len(values), len(keys), err)
	}
}
