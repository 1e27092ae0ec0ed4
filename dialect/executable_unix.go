//go:build unix

package dialect

import "os"

// Executable reports whether anybody may execute the file.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o111 != 0
}
