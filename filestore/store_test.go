package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

// Plugin has the type of Options.Storage.
var _ = patchbay.Options{Storage: New("").Plugin}

func TestWhatWasPutIsFound(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
	for name, key := range map[string]string{
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
		"our own suffix":        "k-a.json",
		"space at the end":      "a ",
		"longest":               strings.Repeat("x", entry.MaxKey),
		"longest and all odd":   strings.Repeat("\x01", entry.MaxKey),
		"long, differs at last": strings.Repeat("x", entry.MaxKey-1) + "y",
	} {
		t.Run(name, func(t *testing.T) {
			want := fmt.Sprintf("{\"key\": %q}\n", name)
			put(t, b, key, want)
			if got, ok, err := b.Get(t.Context(), key); err != nil || !ok || string(got) != want {
				t.Errorf("got %s, %v, %v", got, ok, err)
			}
			if keys, err := b.List(t.Context(), key); err != nil || len(keys) == 0 || keys[0] != key {
				t.Errorf("listed as %.100q, %v", keys, err)
			}
		})
	}
	if keys := list(t, b, ""); len(keys) != 21 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestKeysAreToldApart(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
	keys := []string{"Key", "key", "KEY", "key.", "key ", "é", "e\u0301", "k/ey", "k%2fey", "k%2Fey"}
	for _, key := range keys {
		put(t, b, key, fmt.Sprintf("%q", key))
	}
	names := make(map[string]string)
	for _, key := range keys {
		wantValue(t, b, key, fmt.Sprintf("%q", key))
		name := strings.ToLower(strings.TrimRight(keyName(key), ". "))
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q share the file %s where letter case does not count", key, other, name)
		}
		names[name] = key
	}
}

func TestOverwriteAndDelete(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
	put(t, b, "a", "1")
	put(t, b, "a", "2")
	wantValue(t, b, "a", "2")
	for range 2 { // the second time there is nothing to delete
		if err := b.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if v, ok, err := b.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	if keys := list(t, b, ""); keys == nil || len(keys) != 0 {
		t.Errorf("got %#v", keys)
	}
}

func TestListIsSortedAndNarrowed(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
	long := "b/" + strings.Repeat("x", 300)
	for _, key := range []string{"b/2", "a", long, "B", "b/10", "b"} {
		put(t, b, key, "null")
	}
	wantKeys(t, b, "", "B", "a", "b", "b/10", "b/2", long)
	wantKeys(t, b, "b/", "b/10", "b/2", long)
}

func TestPluginsDoNotSeeEachOther(t *testing.T) {
	s := New(t.TempDir())
	names := []string{"a", "A", "../a", "a.", "", "nul", strings.Repeat("a", 300)}
	for i, name := range names {
		b := s.Plugin(name, patchbay.StorageQuota{})
		wantKeys(t, b, "")
		put(t, b, "k", fmt.Sprint(i))
	}
	for i, name := range names {
		wantValue(t, s.Plugin(name, patchbay.StorageQuota{}), "k", fmt.Sprint(i))
	}
}

func TestReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "storage")
	b := New(dir).Plugin("notes", patchbay.StorageQuota{})
	if _, ok, err := b.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("get: %v, %v", ok, err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	wantKeys(t, b, "")
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was created: %v", err)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits have no effect on Windows")
	}
	root := filepath.Join(t.TempDir(), "data")
	put(t, New(filepath.Join(root, "storage")).Plugin("notes", patchbay.StorageQuota{}), "a", "1")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen != 5 { // data, storage, p-notes, lock, k-a.json
		t.Errorf("%d files, %v", seen, err)
	}
}

func TestRefusals(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
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
			_, _, err := b.Get(t.Context(), c.key)
			for _, err := range []error{err, b.Delete(t.Context(), c.key)} {
				if errors.Is(err, ErrKey) != errors.Is(c.want, ErrKey) {
					t.Errorf("get or delete: %v", err)
				}
			}
		})
	}
	largest := `"` + strings.Repeat("x", entry.MaxValue-2) + `"`
	put(t, b, "largest", largest)
	wantValue(t, b, "largest", largest)
}

func TestCancelledCallsDoNothing(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{})
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
	wantValue(t, b, "a", "1")
}

func TestADirectoryThatCannotBeCreated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a directory")
	for _, dir := range []string{file, filepath.Join(file, "below"), ""} {
		b := New(dir).Plugin("notes", patchbay.StorageQuota{})
		if err := b.Put(t.Context(), "a", json.RawMessage("1")); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}

func put(t testing.TB, b patchbay.Storage, key, value string) {
	t.Helper()
	if err := b.Put(t.Context(), key, json.RawMessage(value)); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t testing.TB, b patchbay.Storage, key, want string) {
	t.Helper()
	if v, ok, err := b.Get(t.Context(), key); err != nil || !ok || string(v) != want {
		t.Errorf("%.80q: got %.80s, %v, %v", key, v, ok, err)
	}
}

func list(t testing.TB, b patchbay.Storage, prefix string) []string {
	t.Helper()
	keys, err := b.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func wantKeys(t testing.TB, b patchbay.Storage, prefix string, want ...string) {
	t.Helper()
	if got := list(t, b, prefix); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("got %.200q, want %.200q", got, want)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
