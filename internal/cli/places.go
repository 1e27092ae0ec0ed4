package cli

import (
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/dialect"
)

// A place is where the plugins of a dialect live.
type place struct {
	dialect string
	dir     string
	form    string // what a plugin there looks like
}

// places is for people who have no plugin yet. The dialects themselves search;
// this says in a line each where.
func (a *app) places() []place {
	env := dialect.Env{Vars: a.Environ}
	scaffold := env.InHome(".local", "scaffold", "plugins")
	if home := env.Get("SCAFFOLD_HOME"); home != "" {
		scaffold = filepath.Join(home, "plugins")
	}
	all := []place{
		{"scaffold", scaffold, "executable files"},
		{"kaged", filepath.Join(env.DataHome(), "kaged", "plugins"), "NAME/manifest.yaml"},
	}
	if len(a.flags.dialects) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p place) bool { return !slices.Contains(a.flags.dialects, p.dialect) })
}
