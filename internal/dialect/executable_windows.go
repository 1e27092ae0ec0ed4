package dialect

import (
	"path/filepath"
	"slices"
	"strings"
)

// Executable reports whether path has the extension of a program. Windows has no executable bit.
func Executable(path string) bool {
	return slices.Contains([]string{".exe", ".bat", ".cmd", ".com"}, strings.ToLower(filepath.Ext(path)))
}
