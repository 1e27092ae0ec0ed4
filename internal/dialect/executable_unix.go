//go:build unix

package dialect

import "os"

// Executable reports whether path is a regular file with an executable bit for anyone.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
