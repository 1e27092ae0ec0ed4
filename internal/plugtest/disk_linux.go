package plugtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SmallDisk returns a directory with little room ("24m"), which ends with the test. Without the
// right to mount the test is skipped.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	switch err := syscall.Mount("none", dir, "tmpfs", syscall.MS_NODEV, "size="+size+",mode=0700"); {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		t.Skipf("no right to mount a small disk: %v; as root this test runs", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, file := range openBelow(t, dir) {
			t.Errorf("still open on the small disk: %s", file)
		}
		Unmount(t, dir)
	})
	return dir
}

// Unmount unmounts a directory. Sandboxes that other tests build at the same time pass through
// every mount of the machine and hold it for a moment, so a busy one is tried again.
func Unmount(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	err := syscall.Unmount(dir, 0)
	for errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		err = syscall.Unmount(dir, 0)
	}
	if err != nil {
		t.Errorf("cannot unmount %s: %v", dir, err)
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // the machine must not keep it
	}
}

// openBelow lists the files below a directory that this process has open.
func openBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		file, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil && strings.HasPrefix(file, dir+"/") { // the listing's own descriptor is gone by now: an error
			files = append(files, file)
		}
	}
	return files
}
