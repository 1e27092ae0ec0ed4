package trust

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// identity returns which file it is, and when it was last changed in any way. A program can set
// back the time of a file, but not this one.
func identity(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d %d %d.%d", s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
	}
	return ""
}

// touched returns when a file was last changed.
func touched(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
