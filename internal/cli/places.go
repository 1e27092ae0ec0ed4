package cli

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// places returns the directories in which Patchbay looks for plugins.
func (a *app) places() []dialect.Place {
	all := pluginhost.Places(a.Environ)
	if len(a.flags.dialects) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p dialect.Place) bool { return !slices.Contains(a.flags.dialects, p.Dialect) })
}
