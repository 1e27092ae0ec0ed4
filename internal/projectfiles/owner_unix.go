//go:build unix

package projectfiles

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign tells whether a file belongs to neither this user nor root, who can do anything anyway.
func foreign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}
