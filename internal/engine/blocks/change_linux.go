package blocks

import (
	"io/fs"
	"syscall"
)

// changeTimeAndInode returns what programs cannot set: when a file's bytes or times last changed,
// in nanoseconds since 1970, and the number of the file.
func changeTimeAndInode(info fs.FileInfo) (changed int64, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}
