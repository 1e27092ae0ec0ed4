package jail

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNoLinkIsFollowed: a link in the source of a mount is an error. The host has resolved all
// links, so the link was put there later.
func TestNoLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "real/file"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"link", "link/file"} {
		if tree, err := openSource(filepath.Join(dir, path)); !is(err, syscall.ELOOP) {
			t.Errorf("%s: %d, %v, want ELOOP", path, tree, err)
		}
	}
}
