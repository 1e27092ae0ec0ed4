//go:build unix && !linux

package trust

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// identity returns which file it is.
func identity(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d %d", s.Dev, s.Ino)
	}
	return ""
}

// touched returns when a file was last changed, by its own time.
func touched(info fs.FileInfo) time.Time { return info.ModTime() }
