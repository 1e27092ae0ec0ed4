package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a store on its own engine.
func open(t *testing.T) *Store {
	dir := t.TempDir()
	return New(func(ctx context.Context) (engine.Store, error) {
		e, err := engine.Open(ctx, engine.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e, nil
	})
}

func TestAnEngineThatDoesNotOpen(t *testing.T) {
	broken := errors.New("no disk")
	tries := 0
	b := New(func(context.Context) (engine.Store, error) { tries++; return nil, broken }).Plugin("notes", Quota{})
	if err := b.Put(t.Context(), "a", json.RawMessage("1")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, _, err := b.Get(t.Context(), "a"); !errors.Is(err, broken) || tries != 2 {
		t.Errorf("got %v after %d tries; every call must try again", err, tries)
	}
}

func TestBucketReturnsStoredValues(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	for name, key := range map[string]string{
		"plain":                "a",
		"path":                 "a/b",
		"traversal":            "../../etc/passwd",
		"absolute path":        "/etc/passwd",
		"backslashes":          `..\..\x`,
		"one full stop":        ".",
		"two full stops":       "..",
		"hidden":               ".hidden",
		"trailing full stop":   "a.",
		"device":               "nul",
		"NUL byte":             "a\x00b",
		"newline and quote":    "a\n\"b\"",
		"escape lookalike":     "%2e",
		"space at the end":     "a ",
		"longest":              strings.Repeat("x", entry.MaxKey),
		"longest and all odd":  strings.Repeat("\x01", entry.MaxKey),
		"long, differs at end": strings.Repeat("x", entry.MaxKey-1) + "y",
	} {
		t.Run(name, func(t *testing.T) {
			want := json.RawMessage(`{"key": ` + fmt.Sprintf("%q", name) + "}\n")
			put(t, b, key, string(want))
			got, ok, err := b.Get(t.Context(), key)
			if err != nil || !ok || string(got) != string(want) {
				t.Errorf("got %s, %v, %v", got, ok, err)
			}
			if keys, err := b.List(t.Context(), key); err != nil || len(keys) == 0 || keys[0] != key {
				t.Errorf("listed as %.100q, %v", keys, err)
			}
		})
	}
	if keys := list(t, b, ""); len(keys) != 17 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestBucketTellsKeysApart(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	keys := []string{"Key", "key", "KEY", "key.", "key ", "é", "e\u0301", "k/ey", "k%2fey"}
	for _, key := range keys {
		put(t, b, key, fmt.Sprintf("%q", key))
	}
	for _, key := range keys {
		if v, _, err := b.Get(t.Context(), key); err != nil || string(v) != fmt.Sprintf("%q", key) {
			t.Errorf("%q: got %s, %v", key, v, err)
		}
	}
}

func TestBucketOverwritesAndDeletes(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	put(t, b, "a", "1")
	put(t, b, "a", "2")
	if v, ok, _ := b.Get(t.Context(), "a"); !ok || string(v) != "2" {
		t.Errorf("got %s, %v", v, ok)
	}
	for range 2 { // the second time there is nothing to delete
		if err := b.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if v, ok, err := b.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	if keys := list(t, b, ""); len(keys) != 0 {
		t.Errorf("got %q", keys)
	}
}

func TestListIsSortedAndNarrowed(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	long := "b/" + strings.Repeat("x", 300)
	for _, key := range []string{"b/2", "a", long, "B", "b/10", "b"} {
		put(t, b, key, "null")
	}
	if got, want := list(t, b, ""), []string{"B", "a", "b", "b/10", "b/2", long}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := list(t, b, "b/"), []string{"b/10", "b/2", long}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestPluginsDoNotSeeEachOther(t *testing.T) {
	s := open(t)
	for i, name := range []string{"a", "A", "../a", "a.", strings.Repeat("a", 300)} {
		b := s.Plugin(name, Quota{})
		if keys := list(t, b, ""); len(keys) != 0 {
			t.Errorf("%.20q sees %q", name, keys)
		}
		put(t, b, "k", fmt.Sprint(i))
	}
	if v, _, _ := s.Plugin("a", Quota{}).Get(t.Context(), "k"); string(v) != "0" {
		t.Errorf("got %s", v)
	}
}

func TestRefusals(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	for _, c := range []struct {
		rule, key, value string
		want             error
	}{
		{"an empty key", "", "1", ErrKey},
		{"a key too long", strings.Repeat("x", entry.MaxKey+1), "1", ErrKey},
		{"a key that is not UTF-8", "\xff", "1", ErrKey},
		{"a value that is not JSON", "a", "{", ErrValue},
		{"no value", "a", "", ErrValue},
		{"two values", "a", "1 2", ErrValue},
		{"a value too large", "a", `"` + strings.Repeat("x", entry.MaxValue) + `"`, ErrValue},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := b.Put(t.Context(), c.key, json.RawMessage(c.value)); !errors.Is(err, c.want) {
				t.Errorf("put: %v", err)
			}
			if !errors.Is(c.want, ErrKey) {
				return
			}
			if _, _, err := b.Get(t.Context(), c.key); !errors.Is(err, ErrKey) {
				t.Errorf("get: %v", err)
			}
			if err := b.Delete(t.Context(), c.key); !errors.Is(err, ErrKey) {
				t.Errorf("delete: %v", err)
			}
		})
	}
	largest := `"` + strings.Repeat("x", entry.MaxValue-2) + `"`
	put(t, b, "largest", largest)
	if v, _, err := b.Get(t.Context(), "largest"); err != nil || string(v) != largest {
		t.Errorf("the largest value: %d bytes, %v", len(v), err)
	}
}

func TestCancelledCallsDoNothing(t *testing.T) {
	b := open(t).Plugin("notes", Quota{})
	put(t, b, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := b.Get(ctx, "a")
	_, listErr := b.List(ctx, "")
	for _, err := range []error{err, b.Put(ctx, "a", json.RawMessage("2")), b.Delete(ctx, "a"), listErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if v, _, _ := b.Get(t.Context(), "a"); string(v) != "1" {
		t.Errorf("got %s", v)
	}
}

func put(t *testing.T, b Bucket, key, value string) {
	t.Helper()
	if err := b.Put(t.Context(), key, json.RawMessage(value)); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, b Bucket, prefix string) []string {
	t.Helper()
	keys, err := b.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
