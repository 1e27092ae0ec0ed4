//go:build !unix

package trust

import "os"

// openGuard opens a file beside patchbay.lock. The file is locked in place of patchbay.lock,
// because patchbay.lock is replaced. A directory cannot be locked on this system.
func openGuard(path string) (*os.File, error) {
	return os.OpenFile(path+".guard", os.O_RDWR|os.O_CREATE, 0o600)
}
