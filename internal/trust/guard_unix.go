//go:build unix

package trust

import (
	"os"
	"path/filepath"
)

// openGuard opens what is locked: the directory, since the file itself is replaced.
func openGuard(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }
