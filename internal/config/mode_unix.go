//go:build unix

package config

import "io/fs"

// sharedMode reports whether other users than the owner can access the file.
func sharedMode(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
