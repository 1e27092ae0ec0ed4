//go:build !unix

package config

import "io/fs"

// sharedMode always returns false: on these systems access is controlled by lists, and the mode
// bits have no effect.
func sharedMode(fs.FileMode) bool { return false }
