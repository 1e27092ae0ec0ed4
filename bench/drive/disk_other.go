//go:build !unix

package drive

import "io/fs"

// diskSpace returns the size of a file: this system does not say how much disk space it takes.
func diskSpace(info fs.FileInfo) int64 { return info.Size() }
