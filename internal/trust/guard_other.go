//go:build !unix

package trust

import "os"

// openGuard opens the file to lock: a file beside the lock, because the lock itself is replaced and
// a directory cannot be locked.
func openGuard(path string) (*os.File, error) {
	return os.OpenFile(path+".guard", os.O_RDWR|os.O_CREATE, 0o600)
}
