//go:build unix

package trust

import (
	"os"
	"path/filepath"
)

// openGuard opens the directory of the lock. The directory is locked in place of the file, because
// the file is replaced.
func openGuard(path string) (*os.File, error) { return os.Open(filepath.Dir(path)) }
