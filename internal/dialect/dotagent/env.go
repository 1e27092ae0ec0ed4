package dotagent

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// alwaysPassed lists the variables that a plugin gets even if the configuration does not list them.
// It needs them to find programs and its own files.
var alwaysPassed = []string{"PATH", "HOME"}

// environment returns a plugin's environment: docs/protocols/dotagent.md, row D43. passed lists the
// variables that the configuration allows. If passed is nil, the plugin gets all variables of the
// host except Patchbay's secrets and the keys of models.
func environment(env dialect.Env, passed []string) []string {
	if passed != nil {
		return env.Pick(append(slices.Clone(alwaysPassed), passed...))
	}
	values := make(map[string]string)
	for _, v := range env.Vars {
		if name, _, ok := strings.Cut(v, "="); ok && !secretenv.Is(name) {
			values[name] = v // the last entry of a name wins
		}
	}
	vars := make([]string, 0, len(values))
	for _, v := range values {
		vars = append(vars, v)
	}
	slices.Sort(vars)
	return vars
}
