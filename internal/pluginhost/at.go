package pluginhost

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// AllAt says which plugins a file or directory is, wherever it lies: one for each dialect that
// takes it for one of its own. only narrows the dialects; nil: all. It starts nothing.
func AllAt(path string, environ, only []string) []dialect.Found {
	var found []dialect.Found
	for _, d := range dialects(nil) {
		if only != nil && !slices.Contains(only, d.Name()) {
			continue
		}
		if f, ok := d.At(path, dialect.Env{Vars: environ}); ok {
			found = append(found, f)
		}
	}
	return found
}

// Installed lists the plugins that are where their dialects keep them. It starts nothing.
func Installed(environ []string) []dialect.Found {
	var found []dialect.Found
	for _, d := range dialects(nil) {
		found = append(found, d.Find(dialect.Env{Vars: environ})...)
	}
	return found
}
