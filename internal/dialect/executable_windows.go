package dialect

import (
	"path/filepath"
	"slices"
	"strings"
)

// Executable goes by the extension: Windows has no bit for it.
func Executable(path string) bool {
	return slices.Contains([]string{".exe", ".bat", ".cmd", ".com"}, strings.ToLower(filepath.Ext(path)))
}
