package filestore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

// planted returns a store with the key "good", and the directory of its plugin, into which the
// tests put foreign files.
func planted(t *testing.T) (b patchbay.Storage, dir string) {
	t.Helper()
	root := t.TempDir()
	b = New(root).Plugin("notes", patchbay.StorageQuota{})
	entrytest.Put(t, b, "good", "1")
	return b, filepath.Join(root, "p-notes")
}

// stillGood checks that foreign files do not affect the key "good".
func stillGood(t *testing.T, b patchbay.Storage) {
	t.Helper()
	entrytest.Put(t, b, "good", "1")
	entrytest.WantValue(t, b, "good", "1")
	if keys, _ := b.List(t.Context(), "g"); !reflect.DeepEqual(keys, []string{"good"}) {
		t.Errorf("listed: %q", keys)
	}
}

// wantNamed checks that an error names the file that causes it, and says what to do.
func wantNamed(t *testing.T, err error, path string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove") {
		t.Errorf("got %v; the error must name %s and say what to do", err, path)
	}
}

func TestForeignFilesAreIgnored(t *testing.T) {
	b, dir := planted(t)
	for _, name := range []string{"k-%4", "k-%zz.json", "k-A.json", "k-.json", "README", ".DS_Store"} {
		write(t, filepath.Join(dir, name), "?")
	}
	entrytest.WantKeys(t, b, "", "good")
	stillGood(t, b)
}

func TestDamagedFilesAreNamed(t *testing.T) {
	whole := string(encode("bad", json.RawMessage("12345")))
	for rule, content := range map[string]string{
		"empty":             "",
		"no checksum":       "\"bad\"\n1",
		"no newline":        `"bad" 00000000`,
		"another key":       string(encode("good", json.RawMessage("1"))),
		"cut off":           whole[:len(whole)-1],
		"one digit changed": strings.Replace(whole, "12345", "12346", 1),
		"not JSON":          string(encode("bad", json.RawMessage("{"))),
		"an invalid key":    string(encode("", json.RawMessage("1"))),
		"too large":         string(encode("bad", json.RawMessage(`"`+strings.Repeat("x", maxFile)+`"`))),
	} {
		t.Run(rule, func(t *testing.T) {
			b, dir := planted(t)
			path := filepath.Join(dir, keyName("bad"))
			write(t, path, content)
			v, ok, err := b.Get(t.Context(), "bad")
			if wantNamed(t, err, path); ok || v != nil {
				t.Errorf("got %.80s, %v", v, ok)
			}
			stillGood(t, b)
			entrytest.Put(t, b, "bad", "2") // repairs it
			entrytest.WantValue(t, b, "bad", "2")
		})
	}
}

// The key of a damaged file with a hashed name is not known: List returns the other keys and an
// error.
func TestDamagedLongKeysAreNamed(t *testing.T) {
	long := strings.Repeat("g", 300)
	for rule, content := range map[string]string{
		"garbage":     "?",
		"another key": string(encode("good", json.RawMessage("1"))),
	} {
		t.Run(rule, func(t *testing.T) {
			b, dir := planted(t)
			path := filepath.Join(dir, keyName(long))
			write(t, path, content)
			keys, err := b.List(t.Context(), "")
			if wantNamed(t, err, path); !reflect.DeepEqual(keys, []string{"good"}) {
				t.Errorf("got %q", keys)
			}
			stillGood(t, b)
			if err := b.Delete(t.Context(), long); err != nil {
				t.Error(err)
			}
			entrytest.WantKeys(t, b, "", "good")
		})
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, string(encode("bad", json.RawMessage(`"secret"`))))
	for rule, target := range map[string]string{"a link out of the directory": outside, "a link to another key": keyName("good"), "a link to no file": "nowhere"} {
		t.Run("a key's file is "+rule, func(t *testing.T) {
			b, dir := planted(t)
			path := filepath.Join(dir, keyName("bad"))
			link(t, target, path)
			v, ok, err := b.Get(t.Context(), "bad")
			if wantNamed(t, err, path); ok {
				t.Errorf("got %s", v)
			}
			_, err = b.List(t.Context(), "")
			wantNamed(t, err, path)
			stillGood(t, b)
			entrytest.Put(t, b, "bad", "2") // replaces the link
			entrytest.WantValue(t, b, "bad", "2")
			entrytest.WantValue(t, b, "good", "1")
		})
		t.Run("the lock is "+rule, func(t *testing.T) {
			b, dir := planted(t)
			path := filepath.Join(dir, lockName)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			link(t, target, path)
			wantNamed(t, b.Put(t.Context(), "a", json.RawMessage("1")), path)
			entrytest.WantValue(t, b, "good", "1")
		})
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != string(encode("bad", json.RawMessage(`"secret"`))) {
		t.Errorf("the file outside was changed: %q, %v", text, err)
	}
}

func TestALinkIsNoPluginDirectory(t *testing.T) {
	root := t.TempDir()
	s := New(root)
	entrytest.Put(t, s.Plugin("rich", patchbay.StorageQuota{}), "a", `"secret"`)
	for plugin, target := range map[string]string{"inside": "p-rich", "outside": t.TempDir()} {
		path := filepath.Join(root, "p-"+plugin)
		link(t, target, path)
		b := s.Plugin(plugin, patchbay.StorageQuota{})
		v, _, err := b.Get(t.Context(), "a")
		if wantNamed(t, err, path); v != nil {
			t.Errorf("got %s", v)
		}
		wantNamed(t, b.Put(t.Context(), "a", json.RawMessage("1")), path)
	}
	entrytest.WantValue(t, s.Plugin("rich", patchbay.StorageQuota{}), "a", `"secret"`)
}

func TestADirectoryIsNoKey(t *testing.T) {
	b, dir := planted(t)
	path := filepath.Join(dir, keyName("bad"))
	if err := os.MkdirAll(filepath.Join(path, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.Get(t.Context(), "bad")
	wantNamed(t, err, path)
	if err := b.Put(t.Context(), "bad", json.RawMessage("1")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("put: %v", err)
	}
	stillGood(t, b)
	if left, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}
