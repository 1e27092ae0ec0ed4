//go:build unix

package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAProjectThatMayNotBeListed: a directory without read permission keeps nobody from working in it.
func TestAProjectThatMayNotBeListed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may list everything")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	if p, err := LoadProject(dir); err != nil || len(p.Plugins) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}
