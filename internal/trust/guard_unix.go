//go:build unix

package trust

import (
	"os"
	"path/filepath"
)

// openGuard opens the directory to lock: the file itself is replaced.
func openGuard(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }
