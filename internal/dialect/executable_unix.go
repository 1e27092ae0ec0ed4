//go:build unix

package dialect

import "os"

// Executable reports whether path is a regular file that anybody may execute.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
