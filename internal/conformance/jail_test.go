package conformance

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAMissingFileIsNoDenial: only a file that exists outside of the sandbox was refused by it.
func TestAMissingFileIsNoDenial(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]bool{there: true, filepath.Join(dir, "nowhere"): false} {
		b := &bench{target: Target{Path: filepath.Join(dir, "plugin")}, dir: filepath.Join(dir, "home")}
		if got := b.missedPath("open " + path + ": no such file or directory"); got != refused || (b.seen.of(sawDenied) != "") != refused {
			t.Errorf("%s: reported %t, %q", path, got, b.seen.of(sawDenied))
		}
	}
}
