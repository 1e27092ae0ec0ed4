//go:build unix

package drive

import (
	"io/fs"
	"syscall"
)

// taken is how much room a file takes up.
func taken(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return info.Size()
}
