//go:build unix

package localsock

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwn refuses a directory that does not belong to the user alone.
func checkOwn(dir string, info fs.FileInfo) error {
	if owner := ownerOf(info); owner != os.Geteuid() {
		return fmt.Errorf("%s: belongs to user %d: it must be a directory of your own", dir, owner)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: open to others: it must be a directory of your own (to fix it: chmod 700)", dir)
	}
	return nil
}

// checkSafe refuses a directory, or a link to one, that belongs to another user, and a directory
// that everybody may write. A group may write it, because on many systems each user has a group of
// their own.
func checkSafe(dir string, info fs.FileInfo) error {
	me, owner := os.Geteuid(), ownerOf(info)
	if owner != me && owner != 0 && me != 0 {
		return fmt.Errorf("%s: belongs to user %d: it must be a directory of your own", dir, owner)
	}
	if info.IsDir() && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("%s: everybody may write there: it must be a directory of your own (to fix it: chmod 700)", dir)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// leftSocket reports whether the mode is that of a socket. A listener that has ended leaves its
// socket behind.
func leftSocket(mode fs.FileMode) bool { return mode.Type() == fs.ModeSocket }

// renames says that a socket can be renamed over another.
const renames = true
