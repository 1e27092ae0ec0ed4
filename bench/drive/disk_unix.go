//go:build unix

package drive

import (
	"io/fs"
	"syscall"
)

// diskSpace returns how much disk space a file takes.
func diskSpace(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return info.Size()
}
