// Package project finds the project that a directory belongs to.
package project

import (
	"os"
	"path/filepath"
)

// Root returns the nearest directory, from dir upwards, that contains .git. If there is none, it
// returns dir. Symbolic links are followed, so that a project has one root on every path to it. A
// directory that does not exist is used as it is written.
func Root(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			return dir
		}
	}
}
