//go:build unix

package localsock

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses a directory in which somebody else could put a socket.
func checkOwner(dir string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: belongs to user %d: a socket wants a directory of your own", dir, st.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: open to others: a socket wants a directory of your own (chmod 700 mends it)", dir)
	}
	return nil
}
