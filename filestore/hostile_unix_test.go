//go:build unix

package filestore

import (
	"path/filepath"
	"syscall"
	"testing"

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
	put(t, b, "bad", "1")
	wantValue(t, b, "bad", "1")
}

// TestAgain: the store works for every user, wherever its directory is.
func TestAgain(t *testing.T) {
	rerun.Tests(t, "TestWhatWasPutIsFound", "TestModes", "TestQuota", "TestLinksAreNotFollowed", "TestKilledWriters")
}
