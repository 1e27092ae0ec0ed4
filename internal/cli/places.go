package cli

import (
	"slices"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/dialect"
)

// places is where plugins are looked for, for people who have none yet.
func (a *app) places() []dialect.Place {
	all := patchbay.Places(a.Environ)
	if len(a.flags.dialects) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p dialect.Place) bool { return !slices.Contains(a.flags.dialects, p.Dialect) })
}
