//go:build !unix

package trust

import "os"

// openGuard opens a file beside patchbay.lock. It is locked in place of patchbay.lock, which is
// replaced. A directory cannot be locked here.
func openGuard(path string) (*os.File, error) {
	return os.OpenFile(path+".guard", os.O_RDWR|os.O_CREATE, 0o600)
}
