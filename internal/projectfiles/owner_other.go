//go:build !unix

package projectfiles

import "io/fs"

// foreign returns false: on this system the owner of a file is not known.
func foreign(fs.FileInfo) bool { return false }
