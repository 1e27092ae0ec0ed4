package blocks

import (
	"io/fs"
	"syscall"
)

// changeTimeAndInode is what no program can set: when anything about a file last changed, its bytes or its
// times, in nanoseconds since 1970, and the number of the file.
func changeTimeAndInode(info fs.FileInfo) (changed int64, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}
