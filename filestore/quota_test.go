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
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

func TestQuota(t *testing.T) {
	entrytest.Quotas(t, openSuite, func(t *testing.T, b entrytest.Bucket) { wantExact(t, b.(*bucket)) })
}

// wantExact checks that the record has the real usage.
func wantExact(t *testing.T, b *bucket) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.store, dirName(b.plugin), lockName))
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.openDir()
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	counted, err := d.count(t.Context())
	if r, ok := decodeRecord(data); err != nil || !ok || r.Usage != counted {
		t.Errorf("recorded %s, counted %+v, %v", data, counted, err)
	}
}

// TestTheRecordEqualsTheUsage: after each change the record equals the counted usage.
func TestTheRecordEqualsTheUsage(t *testing.T) {
	root := t.TempDir()
	b := New(root).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	steps := []func(){
		func() { entrytest.Put(t, b, "a", entrytest.Text(100)) },
		func() { entrytest.Put(t, b, "a", entrytest.Text(50)) },
		func() { entrytest.Put(t, b, strings.Repeat("\n", 500), entrytest.Text(70)) },
		func() { entrytest.Put(t, b, "\x01é<", "1") },
		func() { _ = b.Delete(t.Context(), "a") },
		func() { _ = b.Delete(t.Context(), "none") },
		func() {
			write(t, filepath.Join(root, "p-notes", keyName("planted")), "?")
			entrytest.Put(t, b, "a", "1")
		},
		func() { entrytest.Put(t, b, "planted", "1") },
		func() {
			_ = os.Remove(filepath.Join(root, "p-notes", keyName("planted")))
			entrytest.Put(t, b, "a", "2")
		},
		func() {
			write(t, filepath.Join(root, "p-notes", lockName), `{"bytes":-1}`)
			entrytest.Put(t, b, "a", "3")
		},
		func() { _ = os.Remove(filepath.Join(root, "p-notes", lockName)); entrytest.Put(t, b, "a", "4") },
	}
	for _, step := range steps {
		step()
		wantExact(t, b)
	}
}

// TestARecordSavesCounting: with a valid record, a Put does not count all files.
func TestARecordSavesCounting(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	entrytest.Put(t, b, "a", "1")
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
	entrytest.Put(t, b, "a", "1")
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
	entrytest.Put(t, b, "c", "1")
	wantInOrder(t, b)
}

// TestARemovedLockFileLocksNothing: a writer must not go on with a lock file that was removed or
// replaced while it waited, nor write through a link.
func TestARemovedLockFileLocksNothing(t *testing.T) {
	b := New(t.TempDir()).Plugin("notes", patchbay.StorageQuota{}).(*bucket)
	entrytest.Put(t, b, "a", "1")
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
			entrytest.WantFull(t, err)
		}
	}
	if keys := entrytest.List(t, s.Plugin("notes", patchbay.StorageQuota{}), ""); kept != 15 || len(keys) != 15 {
		t.Errorf("%d were acknowledged, %d are stored", kept, len(keys))
	}
}
