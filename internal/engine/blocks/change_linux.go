package blocks

import (
	"io/fs"
	"syscall"
)

// changeTime is when anything about a file last changed, its bytes or its times, in nanoseconds
// since 1970.
func changeTime(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}
