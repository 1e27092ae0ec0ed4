// Package entrytest is the suite that every storage of plugins passes: the engine's, in
// internal/storage, and the files of filestore.
//
//	Values   keys and values are found again, apart from each other and from other plugins'
//	Quotas   a plugin stores no more than its quota
package entrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/entry"
)

// A Bucket is the storage of one plugin.
type Bucket interface {
	Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, key string, value json.RawMessage) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// A Store returns the bucket of a plugin.
type Store func(plugin string, q entry.Quota) Bucket

// Values tests keys and values. open returns an empty store.
func Values(t *testing.T, open func(t *testing.T) Store) {
	t.Run("what was put is found", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{})
		for name, key := range oddKeys {
			want := fmt.Sprintf("{\"key\": %q}\n", name)
			Put(t, b, key, want)
			WantValue(t, b, key, want)
			if keys := List(t, b, key); len(keys) == 0 || keys[0] != key {
				t.Errorf("%s: listed as %.100q", name, keys)
			}
		}
		if keys := List(t, b, ""); len(keys) != len(oddKeys) {
			t.Errorf("%d keys", len(keys))
		}
	})
	t.Run("keys are told apart", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{})
		for _, key := range LikeKeys {
			Put(t, b, key, fmt.Sprintf("%q", key))
		}
		for _, key := range LikeKeys {
			WantValue(t, b, key, fmt.Sprintf("%q", key))
		}
	})
	t.Run("a value is overwritten and deleted", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{})
		Put(t, b, "a", "1")
		Put(t, b, "a", "2")
		WantValue(t, b, "a", "2")
		for range 2 { // the second time there is nothing to delete
			remove(t, b, "a")
		}
		if v, ok, err := b.Get(t.Context(), "a"); ok || err != nil {
			t.Errorf("got %s, %v", v, err)
		}
		if keys := List(t, b, ""); keys == nil || len(keys) != 0 {
			t.Errorf("got %#v", keys)
		}
	})
	t.Run("a list is sorted, and has the keys with the prefix", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{})
		long := "b/" + strings.Repeat("x", 300)
		for _, key := range []string{"b/2", "a", long, "B", "b/10", "b"} {
			Put(t, b, key, "null")
		}
		WantKeys(t, b, "", "B", "a", "b", "b/10", "b/2", long)
		WantKeys(t, b, "b/", "b/10", "b/2", long)
	})
	t.Run("plugins do not see each other", func(t *testing.T) {
		s := open(t)
		names := []string{"a", "A", "../a", "a.", "", "nul", strings.Repeat("a", 300)}
		for i, name := range names {
			b := s(name, entry.Quota{})
			WantKeys(t, b, "")
			Put(t, b, "k", fmt.Sprint(i))
		}
		for i, name := range names {
			WantValue(t, s(name, entry.Quota{}), "k", fmt.Sprint(i))
		}
	})
	t.Run("what is not a key or a value is refused", func(t *testing.T) { refusals(t, open(t)("notes", entry.Quota{})) })
	t.Run("a cancelled call does nothing", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{})
		Put(t, b, "a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := b.Get(ctx, "a")
		_, listErr := b.List(ctx, "")
		for _, err := range []error{err, b.Put(ctx, "a", json.RawMessage("2")), b.Delete(ctx, "a"), listErr} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		WantValue(t, b, "a", "1")
	})
}

// oddKeys are keys that a storage could mistake for something else.
var oddKeys = map[string]string{
	"plain":                 "a",
	"path":                  "a/b",
	"traversal":             "../../etc/passwd",
	"absolute path":         "/etc/passwd",
	"backslashes":           `..\..\x`,
	"one full stop":         ".",
	"two full stops":        "..",
	"hidden":                ".hidden",
	"trailing full stop":    "a.",
	"device":                "nul",
	"device with a suffix":  "COM1.txt",
	"stream of NTFS":        "a:b",
	"the lock file":         "lock",
	"NUL byte":              "a\x00b",
	"newline and quote":     "a\n\"b\"",
	"escape lookalike":      "%2e",
	"suffix of filestore":   "k-a.json",
	"space at the end":      "a ",
	"longest":               strings.Repeat("x", entry.MaxKey),
	"longest and all odd":   strings.Repeat("\x01", entry.MaxKey),
	"long, differs at last": strings.Repeat("x", entry.MaxKey-1) + "y",
}

// LikeKeys are different keys that a storage could take for one.
var LikeKeys = []string{"Key", "key", "KEY", "key.", "key ", "é", "e\u0301", "k/ey", "k%2fey", "k%2Fey"}

func refusals(t *testing.T, b Bucket) {
	for _, c := range []struct {
		rule, key, value string
		want             error
	}{
		{"an empty key", "", "1", entry.ErrKey},
		{"a key too long", strings.Repeat("x", entry.MaxKey+1), "1", entry.ErrKey},
		{"a key that is not UTF-8", "\xff", "1", entry.ErrKey},
		{"a value that is not JSON", "a", "{", entry.ErrValue},
		{"no value", "a", "", entry.ErrValue},
		{"two values", "a", "1 2", entry.ErrValue},
		{"a value too large", "a", string(Text(entry.MaxValue + 1)), entry.ErrValue},
	} {
		if err := b.Put(t.Context(), c.key, json.RawMessage(c.value)); !errors.Is(err, c.want) {
			t.Errorf("%s: put: %v", c.rule, err)
		}
		_, _, err := b.Get(t.Context(), c.key)
		for _, err := range []error{err, b.Delete(t.Context(), c.key)} {
			if errors.Is(err, entry.ErrKey) != errors.Is(c.want, entry.ErrKey) {
				t.Errorf("%s: get or delete: %v", c.rule, err)
			}
		}
	}
	Put(t, b, "largest", Text(entry.MaxValue))
	WantValue(t, b, "largest", Text(entry.MaxValue))
}

// Quotas tests the limits of a plugin named notes. exact checks that the storage knows exactly what
// the plugin stores.
func Quotas(t *testing.T, open func(t *testing.T) Store, exact func(t *testing.T, b Bucket)) {
	t.Run("bytes of keys and values are limited", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{Bytes: 1000})
		Put(t, b, "a", Text(599))
		Put(t, b, "b", Text(399))
		WantFull(t, b.Put(t.Context(), "c", json.RawMessage("1")), "plugin notes", "1000 bytes", "limits.storage", "[plugins.notes.limits]")
		WantFull(t, b.Put(t.Context(), "a", Text(600)))
		WantValue(t, b, "a", Text(599))
		Put(t, b, "a", Text(597)) // smaller
		Put(t, b, "c", "1")
		WantFull(t, b.Put(t.Context(), "d", json.RawMessage("1")))
		remove(t, b, "b")
		Put(t, b, strings.Repeat("d", 300), Text(100))
		Put(t, b, strings.Repeat("d", 300), Text(100)) // the same again
		WantFull(t, b.Put(t.Context(), "e", json.RawMessage("1")))
		exact(t, b)
	})
	t.Run("the number of keys is limited", func(t *testing.T) {
		b := open(t)("notes", entry.Quota{Keys: 3})
		for _, key := range []string{"a", "b", "c"} {
			Put(t, b, key, "1")
		}
		WantFull(t, b.Put(t.Context(), "d", json.RawMessage("1")), "3 keys", "limits.storage_keys")
		Put(t, b, "a", `"longer"`) // no new key
		for range 2 {              // the second time there is nothing to delete
			remove(t, b, "b")
		}
		Put(t, b, "d", "1")
		WantFull(t, b.Put(t.Context(), "e", json.RawMessage("1")))
		WantKeys(t, b, "", "a", "c", "d")
		exact(t, b)
	})
	t.Run("each plugin has its own quota", func(t *testing.T) {
		s := open(t)
		Put(t, s("notes", entry.Quota{Keys: 1}), "a", "1")
		Put(t, s("other", entry.Quota{Keys: 1}), "a", "1")
		WantFull(t, s("notes", entry.Quota{Keys: 1}).Put(t.Context(), "b", json.RawMessage("1")))
	})
	t.Run("a plugin over a lowered quota may replace values by smaller ones, and delete them", func(t *testing.T) {
		s := open(t)
		Put(t, s("notes", entry.Quota{}), "a", Text(100))
		Put(t, s("notes", entry.Quota{}), "b", Text(100))
		b := s("notes", entry.Quota{Bytes: 50, Keys: 1})
		Put(t, b, "a", Text(90))
		WantFull(t, b.Put(t.Context(), "a", Text(91)))
		remove(t, b, "b")
		Put(t, b, "a", Text(49))
		exact(t, b)
	})
}

// Text returns a JSON string of size bytes.
func Text(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }

// Put stores a value.
func Put[V string | json.RawMessage](t testing.TB, b Bucket, key string, value V) {
	t.Helper()
	if err := b.Put(t.Context(), key, json.RawMessage(value)); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, b Bucket, key string) {
	t.Helper()
	if err := b.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// List returns the keys that begin with prefix.
func List(t testing.TB, b Bucket, prefix string) []string {
	t.Helper()
	keys, err := b.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// WantKeys checks the keys that begin with prefix.
func WantKeys(t testing.TB, b Bucket, prefix string, want ...string) {
	t.Helper()
	if got := List(t, b, prefix); !slices.Equal(got, want) {
		t.Errorf("got %.200q, want %.200q", got, want)
	}
}

// WantValue checks a stored value.
func WantValue[V string | json.RawMessage](t testing.TB, b Bucket, key string, want V) {
	t.Helper()
	if v, ok, err := b.Get(t.Context(), key); err != nil || !ok || string(v) != string(want) {
		t.Errorf("%.80q: got %.80s, %v, %v", key, v, ok, err)
	}
}

// WantFull checks that an error says that the storage is full, with these words.
func WantFull(t testing.TB, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, entry.ErrFull) {
		t.Fatalf("err = %v, want that the storage is full", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}
