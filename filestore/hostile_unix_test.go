//go:build unix

package filestore

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/rerun"
)

// TestAPipeIsNotWaitedFor checks that a pipe without a writer does not block the host.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	b, dir := planted(t)
	path := filepath.Join(dir, keyName("bad"))
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.Get(t.Context(), "bad")
	wantNamed(t, err, path)
	stillGood(t, b)
	entrytest.Put(t, b, "bad", "1")
	entrytest.WantValue(t, b, "bad", "1")
}

// TestAgain: the store works for every user, wherever its directory is.
func TestAgain(t *testing.T) {
	rerun.Tests(t, "TestKeysAndValues", "TestModes", "TestQuota", "TestLinksAreNotFollowed", "TestKilledWriters")
}
