//go:build unix

package config

import "io/fs"

// sharedMode tells whether anyone but the owner may touch the file.
func sharedMode(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
