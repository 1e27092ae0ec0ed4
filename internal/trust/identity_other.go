//go:build !unix

package trust

import (
	"io/fs"
	"time"
)

// identity is nothing here: size and time have to do.
func identity(fs.FileInfo) string { return "" }

// touched is when a file was last changed, as far as it tells.
func touched(info fs.FileInfo) time.Time { return info.ModTime() }
