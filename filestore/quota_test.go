package filestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/internal/entry"
)

func text(bytes int) string { return `"` + strings.Repeat("x", bytes-2) + `"` }

func wantFull(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "plugin notes") || !strings.Contains(err.Error(), "limits.storage") {
		t.Errorf("got %v", err)
	}
}

func TestQuota(t *testing.T) {
	t.Run("the quota of bytes is exact", func(t *testing.T) {
		b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{Bytes: 1000})
		put(t, b, "a", text(499))
		wantFull(t, b.Put(t.Context(), "b", json.RawMessage(text(500))))
		put(t, b, "b", text(499))
		wantFull(t, b.Put(t.Context(), "a", json.RawMessage(text(500))))
		wantValue(t, b, "a", text(499))
		put(t, b, "a", text(10))
		put(t, b, strings.Repeat("k", 300), text(189))
		wantFull(t, b.Put(t.Context(), "c", json.RawMessage("1")))
	})
	t.Run("the number of keys is limited", func(t *testing.T) {
		b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{Keys: 2})
		put(t, b, "a", "1")
		put(t, b, "b", "1")
		wantFull(t, b.Put(t.Context(), "c", json.RawMessage("1")))
		put(t, b, "b", "22")
		if err := b.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		put(t, b, "c", "1")
		wantKeys(t, b, "", "b", "c")
	})
	t.Run("each plugin has its own quota", func(t *testing.T) {
		s := New(t.TempDir())
		put(t, s.Plugin("notes", patchbay.StorageQuota{Keys: 1}), "a", "1")
		put(t, s.Plugin("other", patchbay.StorageQuota{Keys: 1}), "a", "1")
		wantFull(t, s.Plugin("notes", patchbay.StorageQuota{Keys: 1}).Put(t.Context(), "b", json.RawMessage("1")))
	})
	t.Run("a value may shrink although the quota was lowered", func(t *testing.T) {
		s := New(t.TempDir())
		put(t, s.Plugin("notes", patchbay.StorageQuota{}), "a", text(100))
		b := s.Plugin("notes", patchbay.StorageQuota{Bytes: 50})
		wantFull(t, b.Put(t.Context(), "a", json.RawMessage(text(101))))
		put(t, b, "a", text(90))
	})
}

// TestTheRecordEqualsTheUsage: after each change the record equals the counted usage.
func TestTheRecordEqualsTheUsage(t *testing.T) {
	root := t.TempDir()
	b := New(root).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	steps := []func(){
		func() { put(t, b, "a", text(100)) },
		func() { put(t, b, "a", text(50)) },
		func() { put(t, b, strings.Repeat("\n", 500), text(70)) },
		func() { put(t, b, "\x01é<", "1") },
		func() { _ = b.Delete(t.Context(), "a") },
		func() { _ = b.Delete(t.Context(), "none") },
		func() { write(t, filepath.Join(root, "p-notes", keyName("planted")), "?"); put(t, b, "a", "1") },
		func() { put(t, b, "planted", "1") },
		func() { _ = os.Remove(filepath.Join(root, "p-notes", keyName("planted"))); put(t, b, "a", "2") },
		func() { write(t, filepath.Join(root, "p-notes", lockName), `{"bytes":-1}`); put(t, b, "a", "3") },
		func() { _ = os.Remove(filepath.Join(root, "p-notes", lockName)); put(t, b, "a", "4") },
	}
	for i, step := range steps {
		step()
		data, err := os.ReadFile(filepath.Join(root, "p-notes", lockName))
		if err != nil {
			t.Fatal(err)
		}
		d, err := b.openDir()
		if err != nil {
			t.Fatal(err)
		}
		counted, err := d.count(t.Context())
		d.close()
		if r, ok := decodeRecord(data); err != nil || !ok || r.Usage != counted {
			t.Errorf("step %d: recorded %s, counted %+v, %v", i, data, counted, err)
		}
	}
}

// TestARecordSavesCounting: with a valid record, a Put does not count all files.
func TestARecordSavesCounting(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	put(t, b, "a", "1")
	d, err := b.openDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	l, err := d.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.save(entry.Usage{Bytes: 7, Keys: 3}) // wrong numbers: counting would return others
	used, err := l.load(t.Context())
	l.close()
	if err != nil || used != (entry.Usage{Bytes: 7, Keys: 3}) {
		t.Errorf("got %+v, %v", used, err)
	}
}

// TestNoRecordDuringAChange checks that a process that dies during a change leaves no usable
// record.
func TestNoRecordDuringAChange(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	put(t, b, "a", "1")
	died := errors.New("died")
	err := b.change(t.Context(), change{name: keyName("b"), key: "b", apply: func(d *dir) error {
		data, err := d.head(lockName, maxRecord)
		if err != nil || len(data) > 0 {
			t.Errorf("got %q, %v", data, err)
		}
		return died
	}})
	if !errors.Is(err, died) {
		t.Error(err)
	}
	put(t, b, "c", "1")
	wantInOrder(t, b)
}

// TestARemovedLockFileLocksNothing: a writer must not go on with a lock file that was removed or
// replaced while it waited, nor write through a link.
func TestARemovedLockFileLocksNothing(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	put(t, b, "a", "1")
	d, err := b.openDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	f, err := d.open(lockName, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		rule string
		do   func() error
		want bool
	}{
		{"unchanged", func() error { return nil }, true},
		{"moved, with a link to it", func() error {
			return errors.Join(d.root.Rename(lockName, "moved"), d.root.Symlink("moved", lockName))
		}, false},
		{"removed", func() error { return d.root.Remove(lockName) }, false},
		{"replaced", func() error { return d.root.WriteFile(lockName, nil, 0o600) }, false},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		if still, err := d.isCurrent(lockName, f); err != nil || still != c.want {
			t.Errorf("%s: got %v, %v", c.rule, still, err)
		}
	}
}

// TestAtOnce: hosts of one process share a directory, and its quota.
func TestAtOnce(t *testing.T) {
	s := New(t.TempDir())
	var wg sync.WaitGroup
	errs := make(chan error, 40)
	for host := range 4 {
		b := s.Plugin("notes", patchbay.StorageQuota{Keys: 15})
		for i := range 10 {
			wg.Go(func() { errs <- b.Put(t.Context(), fmt.Sprint(host, "-", i), json.RawMessage("1")) })
		}
	}
	wg.Wait()
	kept := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			kept++
		} else {
			wantFull(t, err)
		}
	}
	if keys := list(t, s.Plugin("notes", patchbay.StorageQuota{}), ""); kept != 15 || len(keys) != 15 {
		t.Errorf("%d were acknowledged, %d are stored", kept, len(keys))
	}
}
