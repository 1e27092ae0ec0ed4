//go:build unix && !linux

package trust

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// identity is which file it is.
func identity(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d %d", s.Dev, s.Ino)
	}
	return ""
}

// touched is when a file was last changed, as far as it tells.
func touched(info fs.FileInfo) time.Time { return info.ModTime() }
