//go:build !linux && !darwin

package blocks

import "io/fs"

// changeTimeAndInode returns zeros: this system does not report them.
func changeTimeAndInode(fs.FileInfo) (changed int64, inode uint64) { return 0, 0 }
