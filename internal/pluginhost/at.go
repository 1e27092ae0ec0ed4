package pluginhost

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// AllAt returns the plugins that the file or directory at path can be: one for each dialect that
// recognises it. If only is not nil, it limits the dialects. AllAt starts nothing.
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

// Installed returns the plugins in the places where their dialects keep them. It starts nothing.
func Installed(environ []string) []dialect.Found {
	var found []dialect.Found
	for _, d := range dialects(nil) {
		found = append(found, d.Find(dialect.Env{Vars: environ})...)
	}
	return found
}
