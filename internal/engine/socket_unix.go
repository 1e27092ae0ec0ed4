//go:build unix

package engine

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses a directory in which somebody else could put a socket.
func checkOwner(dir string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: belongs to user %d: the engine's socket wants a directory of your own", dir, st.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: open to others: the engine's socket wants a directory of your own (chmod 700 mends it)", dir)
	}
	return nil
}
