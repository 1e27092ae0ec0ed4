//go:build unix

package plugindev

import (
	"io/fs"
	"syscall"
)

// inode tells two files apart that have the same name, size and time.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
