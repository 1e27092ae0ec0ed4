//go:build !unix

package drive

import "io/fs"

// taken is how much room a file takes up, as far as can be told.
func taken(info fs.FileInfo) int64 { return info.Size() }
