package filestate

import (
	"io/fs"
	"syscall"
)

func system(info fs.FileInfo) (device, inode uint64, changed int64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino, s.Ctim.Nano()
	}
	return 0, 0, 0
}
