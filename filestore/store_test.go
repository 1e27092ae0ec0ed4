package filestore

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

// Plugin has the type of Options.Storage.
var _ = patchbay.Options{Storage: New("").Plugin}

func TestKeysAndValues(t *testing.T) { entrytest.Values(t, openSuite) }

// openSuite returns a store for the suite.
func openSuite(t *testing.T) entrytest.Store {
	s := New(t.TempDir())
	return func(plugin string, q entry.Quota) entrytest.Bucket { return s.Plugin(plugin, patchbay.StorageQuota(q)) }
}

// TestKeysAreToldApart: keys have different files also where letter case does not count.
func TestKeysAreToldApart(t *testing.T) {
	names := make(map[string]string)
	for _, key := range entrytest.LikeKeys {
		name := strings.ToLower(strings.TrimRight(keyName(key), ". "))
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q share the file %s", key, other, name)
		}
		names[name] = key
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
	entrytest.WantKeys(t, b, "")
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was created: %v", err)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits have no effect on Windows")
	}
	root := filepath.Join(t.TempDir(), "data")
	entrytest.Put(t, New(filepath.Join(root, "storage")).Plugin("notes", patchbay.StorageQuota{}), "a", "1")
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

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
