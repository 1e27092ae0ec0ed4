//go:build unix

package projectfiles

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether a file belongs neither to this user nor to root, who can do everything
// anyway.
func foreign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}
