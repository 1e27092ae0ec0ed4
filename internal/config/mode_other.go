//go:build !unix

package config

import "io/fs"

// sharedMode has nothing to go by: mode bits are made up where access is ruled by lists.
func sharedMode(fs.FileMode) bool { return false }
