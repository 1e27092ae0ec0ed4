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

// SmallDisk returns a directory on a small file system ("24m"), which is unmounted at the end of
// the test. Without the right to mount, the test is skipped.
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

// Unmount unmounts a directory. Sandboxes that other tests build at the same time hold every mount
// of the machine for a moment, so Unmount tries again while the directory is busy.
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
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // do not leave it mounted
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
		if err == nil && strings.HasPrefix(file, dir+"/") { // the descriptor of the listing itself is closed by now, which is an error
			files = append(files, file)
		}
	}
	return files
}
