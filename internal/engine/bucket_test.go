package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		t.Run("a missing key is not found", keyNotThere(e))
		t.Run("put replaces any value, and revisions grow", putGrows(e))
		t.Run("create refuses an existing key, and accepts a deleted one", createRules(e))
		t.Run("update and delete-at refuse another revision", updateRules(e))
		t.Run("any string is a key", oddKeys(e))
		t.Run("keys and values are sorted and have the prefix", prefixes(e))
		t.Run("of many concurrent updates of one revision one succeeds", countersAgree(e))
		t.Run("watch sends all values, then nil, then all changes", watchRules(e))
		t.Run("values keep their bytes", bigValues(e))
	})
}

func keyNotThere(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "missing"})
		if _, err := b.Get(t.Context(), "k"); !errors.Is(err, ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		if err := b.Delete(t.Context(), "k"); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := b.Update(t.Context(), "k", nil, 7); !errors.Is(err, ErrConflict) {
			t.Errorf("update: %v", err)
		}
		if err := b.DeleteAt(t.Context(), "k", 7); !errors.Is(err, ErrConflict) {
			t.Errorf("delete at: %v", err)
		}
		if keys, err := b.Keys(t.Context(), ""); err != nil || len(keys) != 0 {
			t.Errorf("keys: %v, %v", keys, err)
		}
	}
}

func putGrows(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "put"})
		first := put(t, b, "k", "1")
		second := put(t, b, "k", "2")
		other := put(t, b, "l", "3")
		if first >= second || second >= other {
			t.Errorf("revisions %d, %d, %d", first, second, other)
		}
		if v, err := b.Get(t.Context(), "k"); err != nil || string(v.Data) != "2" || v.Revision != second || v.Key != "k" {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

func createRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "create"})
		for range 2 {
			if _, err := b.Create(t.Context(), "k", []byte("v")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Create(t.Context(), "k", []byte("w")); !errors.Is(err, ErrExists) {
				t.Errorf("create of an existing key: %v", err)
			}
			if err := b.Delete(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Get(t.Context(), "k"); !errors.Is(err, ErrNotFound) {
				t.Errorf("get of a deleted key: %v", err)
			}
		}
	}
}

func updateRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "update"})
		first := put(t, b, "k", "1")
		second, err := b.Update(t.Context(), "k", []byte("2"), first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Update(t.Context(), "k", []byte("3"), first); !errors.Is(err, ErrConflict) {
			t.Errorf("update: %v", err)
		}
		if _, err := b.Update(t.Context(), "k", []byte("3"), 0); !errors.Is(err, ErrConflict) {
			t.Errorf("update of revision 0: %v", err)
		}
		if err := b.DeleteAt(t.Context(), "k", first); !errors.Is(err, ErrConflict) {
			t.Errorf("delete: %v", err)
		}
		if err := b.DeleteAt(t.Context(), "k", second); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := b.Update(t.Context(), "k", []byte("4"), 0); err != nil {
			t.Errorf("update of revision 0 of a key that does not exist: %v", err)
		}
	}
}

func oddKeys(e *Engine) func(*testing.T) {
	keys := []string{
		"plain", "a.b", "a..b", ".", "..", "a b", "*", ">", "a.*", "a/>", "/", "//", "a/", "/a", "a//b", "=", "=2E", "$JS.API",
		"naïve", "日本語", "\x00", "\n", "\xff\xfe", strings.Repeat("k", 1024), strings.Repeat("é", 512),
	}
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "odd"})
		for _, k := range keys {
			put(t, b, k, "value of "+k)
		}
		for _, k := range keys {
			if v, err := b.Get(t.Context(), k); err != nil || v.Key != k || string(v.Data) != "value of "+k {
				t.Errorf("%.40q: %.80q, %v", k, v.Data, err)
			}
		}
		slices.Sort(keys)
		if got, err := b.Keys(t.Context(), ""); err != nil || !slices.Equal(got, keys) {
			t.Errorf("%.400q, %v", got, err)
		}
		if _, err := b.Put(t.Context(), "", nil); err == nil {
			t.Error("an empty key was accepted")
		}
		if _, err := b.Put(t.Context(), strings.Repeat("k", 5000), nil); !errors.Is(err, ErrTooLarge) {
			t.Errorf("a key of 5000 bytes: %v", err)
		}
	}
}

func prefixes(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "prefix"})
		for _, k := range []string{"b/2", "a/1", "b/10", "b", "bc/1", "b/", "b//x", "c.d", "gone"} {
			put(t, b, k, k)
		}
		if err := b.Delete(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		for prefix, want := range map[string][]string{
			"":     {"a/1", "b", "b/", "b//x", "b/10", "b/2", "bc/1", "c.d"},
			"b":    {"b", "b/", "b//x", "b/10", "b/2", "bc/1"},
			"b/":   {"b/", "b//x", "b/10", "b/2"},
			"b/1":  {"b/10"},
			"b//":  {"b//x"},
			"c.":   {"c.d"},
			"*":    nil,
			"none": nil,
		} {
			keys, err := b.Keys(t.Context(), prefix)
			if err != nil || !slices.Equal(keys, want) {
				t.Errorf("keys %q: %q, %v", prefix, keys, err)
			}
			values, err := b.Values(t.Context(), prefix)
			if err != nil || !slices.EqualFunc(values, want, func(v Value, k string) bool { return v.Key == k && string(v.Data) == k }) {
				t.Errorf("values %q: %v, %v", prefix, values, err)
			}
		}
	}
}

func countersAgree(e *Engine) func(*testing.T) {
	const counters, times = 8, 10
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "counter"})
		put(t, b, "n", "0")
		var all sync.WaitGroup
		for range counters {
			all.Go(func() {
				for range times {
					if err := increment(t.Context(), b, "n"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if v, err := b.Get(t.Context(), "n"); err != nil || string(v.Data) != strconv.Itoa(counters*times) {
			t.Errorf("%s, %v", v.Data, err)
		}
	}
}

func increment(ctx context.Context, b Bucket, key string) error {
	for {
		v, err := b.Get(ctx, key)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(v.Data))
		if err != nil {
			return err
		}
		if _, err = b.Update(ctx, key, []byte(strconv.Itoa(n+1)), v.Revision); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

var errEnough = errors.New("enough")

func watchRules(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "watch"})
		put(t, b, "p/a", "1")
		put(t, b, "p/b", "1")
		put(t, b, "other", "1")
		if err := b.Delete(t.Context(), "p/b"); err != nil {
			t.Fatal(err)
		}
		var seen []string
		err := b.Watch(t.Context(), "p/", func(v *Value) error {
			if v == nil {
				seen = append(seen, "now")
				put(t, b, "p/a", "2")
				put(t, b, "other", "2")
				if err := b.Delete(t.Context(), "p/a"); err != nil {
					return err
				}
				put(t, b, "p/end", "")
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s=%s %v", v.Key, v.Data, v.Deleted))
			if v.Key == "p/end" {
				return errEnough
			}
			return nil
		})
		// A value that is followed by another at once may be left out, because the bucket has only
		// the last value of a key.
		seen = slices.DeleteFunc(seen, func(s string) bool { return s == "p/a=2 false" })
		want := []string{"p/a=1 false", "now", "p/a= true", "p/end= false"}
		if !errors.Is(err, errEnough) || !slices.Equal(seen, want) {
			t.Errorf("%q, %v", seen, err)
		}
	}
}

func bigValues(e *Engine) func(*testing.T) {
	return func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "big"})
		limit := int(e.nc.MaxPayload() - headroom)
		data := bytes.Repeat([]byte("0123456789abcdef"), limit/16)
		if _, err := b.Put(t.Context(), "k", data); err != nil {
			t.Fatal(err)
		}
		if v, err := b.Get(t.Context(), "k"); err != nil || !bytes.Equal(v.Data, data) {
			t.Errorf("%d bytes of %d, %v", len(v.Data), len(data), err)
		}
		_, err := b.Put(t.Context(), "k", make([]byte, limit+1))
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), strconv.Itoa(limit)) {
			t.Errorf("one byte more: %v", err)
		}
	}
}

func TestBucketTTL(t *testing.T) {
	t.Parallel() // waits most of the time
	e := open(t, Options{Dir: t.TempDir()})
	b := openBucket(t, e, BucketConfig{Name: "short", TTL: time.Second})
	t.Run("a value that is not written for the TTL expires, and watchers see that", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := b.Watch(ctx, "", func(v *Value) error {
			switch {
			case v == nil: // now, because it could expire before the watch begins
				put(t, b, "k", "v")
			case v.Deleted:
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
		if _, err := b.Get(ctx, "k"); !errors.Is(err, ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		if keys, err := b.Keys(ctx, ""); err != nil || len(keys) > 0 {
			t.Errorf("keys: %q, %v", keys, err)
		}
	})
	t.Run("it can be created again", func(t *testing.T) {
		if _, err := b.Create(t.Context(), "k", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestBucketSettings(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	put(t, openBucket(t, e, BucketConfig{Name: "b"}), "k", "v")
	t.Run("an existing bucket gets the new settings and keeps its values", func(t *testing.T) {
		b := openBucket(t, e, BucketConfig{Name: "b", TTL: time.Hour}).(*bucket)
		if age := b.stream.CachedInfo().Config.MaxAge; age != time.Hour {
			t.Errorf("its values last %v", age)
		}
		if v, err := b.Get(t.Context(), "k"); err != nil || string(v.Data) != "v" {
			t.Errorf("%v, %v", v, err)
		}
	})
	t.Run("invalid names are refused", func(t *testing.T) {
		for _, name := range []string{"", "a.b", "a b", "*", strings.Repeat("x", 65)} {
			if _, err := e.Bucket(t.Context(), BucketConfig{Name: name}); err == nil {
				t.Errorf("bucket %q", name)
			}
		}
	})
}

func put(t *testing.T, b Bucket, key, data string) uint64 {
	t.Helper()
	revision, err := b.Put(t.Context(), key, []byte(data))
	if err != nil {
		t.Fatalf("%.40q: %v", key, err)
	}
	return revision
}
