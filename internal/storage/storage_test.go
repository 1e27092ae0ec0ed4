package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestBucketKeepsWhatItIsGiven(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
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
		"NUL byte":              "a\x00b",
		"newline and quote":     "a\n\"b\"",
		"escape lookalike":      "%2e",
		"our own suffix":        "k-a.json",
		"space at the end":      "a ",
		"longest":               strings.Repeat("x", MaxKey),
		"longest and all odd":   strings.Repeat("\x01", MaxKey),
		"long, differs at last": strings.Repeat("x", MaxKey-1) + "y",
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
	if keys := list(t, b, ""); len(keys) != 18 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestBucketTellsKeysApart(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
	keys := []string{"Key", "key", "KEY", "key.", "key ", "é", "e\u0301", "k/ey", "k%2fey"}
	for _, key := range keys {
		put(t, b, key, fmt.Sprintf("%q", key))
	}
	names := make(map[string]string)
	for _, key := range keys {
		if v, _, err := b.Get(t.Context(), key); err != nil || string(v) != fmt.Sprintf("%q", key) {
			t.Errorf("%q: got %s, %v", key, v, err)
		}
		name := strings.ToLower(strings.TrimRight(keyName(key), ". "))
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q share the file %s where letter case does not count", key, other, name)
		}
		names[name] = key
	}
}

func TestBucketOverwritesAndDeletes(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
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
	b := Open(t.TempDir()).Plugin("notes")
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
	s := Open(t.TempDir())
	for i, name := range []string{"a", "A", "../a", "a.", strings.Repeat("a", 300)} {
		b := s.Plugin(name)
		if keys := list(t, b, ""); len(keys) != 0 {
			t.Errorf("%.20q sees %q", name, keys)
		}
		put(t, b, "k", fmt.Sprint(i))
	}
	if v, _, _ := s.Plugin("a").Get(t.Context(), "k"); string(v) != "0" {
		t.Errorf("got %s", v)
	}
}

func TestOpenDoesNoIO(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "storage")
	b := Open(dir).Plugin("notes")
	if _, ok, err := b.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("get: %v, %v", ok, err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if keys := list(t, b, ""); len(keys) != 0 {
		t.Errorf("list: %q", keys)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

func TestOthersCannotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits mean nothing on Windows")
	}
	root := filepath.Join(t.TempDir(), "data", "storage")
	put(t, Open(root).Plugin("notes"), "a", "1")
	err := filepath.WalkDir(filepath.Dir(root), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
	for _, c := range []struct {
		rule, key, value string
		want             error
	}{
		{"an empty key", "", "1", ErrKey},
		{"a key too long", strings.Repeat("x", MaxKey+1), "1", ErrKey},
		{"a key that is not UTF-8", "\xff", "1", ErrKey},
		{"a value that is not JSON", "a", "{", ErrValue},
		{"no value", "a", "", ErrValue},
		{"two values", "a", "1 2", ErrValue},
		{"a value too large", "a", `"` + strings.Repeat("x", MaxValue) + `"`, ErrValue},
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
	largest := `"` + strings.Repeat("x", MaxValue-2) + `"`
	put(t, b, "largest", largest)
	if v, _, err := b.Get(t.Context(), "largest"); err != nil || string(v) != largest {
		t.Errorf("the largest value: %d bytes, %v", len(v), err)
	}
}

func TestCancelledCallsDoNothing(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
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

func TestForeignFiles(t *testing.T) {
	b := Open(t.TempDir()).Plugin("notes")
	put(t, b, "good", "1")
	for _, name := range []string{"k-%4", "k-%zz.json", "k-A.json", "k-.json", "README", "t-123", ".DS_Store"} {
		write(t, filepath.Join(b.dir, name), "?")
	}
	if keys := list(t, b, ""); !reflect.DeepEqual(keys, []string{"good"}) {
		t.Errorf("files that are not ours are listed: %q", keys)
	}
	for rule, content := range map[string]string{
		"no first line": `"bad"`, "another key": "\"good\"\n1", "not JSON": "\"bad\"\n{", "empty": "",
	} {
		write(t, b.file("bad"), content)
		if v, ok, err := b.Get(t.Context(), "bad"); err == nil || ok || !strings.Contains(err.Error(), b.file("bad")) {
			t.Errorf("%s: got %s, %v, %v; a damaged file must be named", rule, v, ok, err)
		}
	}
	write(t, filepath.Join(b.dir, "h-00.json"), "?")
	if _, err := b.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "h-00.json") {
		t.Errorf("got %v; a damaged file must be named", err)
	}
}

func TestPutReportsTheDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a directory")
	if err := Open(file).Plugin("notes").Put(t.Context(), "a", json.RawMessage("1")); err == nil || errors.Is(err, ErrKey) {
		t.Errorf("got %v", err)
	}
}

func TestFirstPutSweepsLeftovers(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s.Plugin("notes"), "a", "1")
	dir := s.Plugin("notes").dir
	old, fresh := filepath.Join(dir, "t-old"), filepath.Join(dir, "t-fresh")
	write(t, old, "half")
	write(t, fresh, "half")
	then := time.Now().Add(-2 * leftoverAge)
	for _, path := range []string{old, filepath.Join(dir, keyName("a"))} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s.Plugin("notes"), "b", "2")
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a dead writer left is still there: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("what may still be written is gone: %v", err)
	}
	if keys := list(t, s.Plugin("notes"), ""); !reflect.DeepEqual(keys, []string{"a", "b"}) {
		t.Errorf("got %q", keys)
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzKeyName(f *testing.F) {
	f.Add("a")
	f.Add("../A\x00é.")
	f.Add(strings.Repeat("%", 200))
	f.Fuzz(func(t *testing.T, key string) {
		name := keyName(key)
		if len(name) > maxName || filepath.Base(name) != name || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.%") != "" {
			t.Fatalf("not a safe name: %q", name)
		}
		if got, ok := keyFromName(name); key != "" && !isHashed(name) && (!ok || got != key) {
			t.Fatalf("%q became %q", key, got)
		}
	})
}
