package dotagent

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// narrowed is what a plugin still gets where the configuration lists its environment: it finds
// programs and its own files.
var narrowed = []string{"PATH", "HOME"}

// environment is what a plugin sees: the host's environment, "as theirs always did, less Patchbay's
// own secrets and model keys". passed is the configuration's list: nil is none.
func environment(env dialect.Env, passed []string) []string {
	if passed != nil {
		return env.Pick(append(slices.Clone(narrowed), passed...))
	}
	values := make(map[string]string)
	for _, v := range env.Vars {
		if name, _, ok := strings.Cut(v, "="); ok && !secretenv.Is(name) {
			values[name] = v // the last of a name counts
		}
	}
	vars := make([]string, 0, len(values))
	for _, v := range values {
		vars = append(vars, v)
	}
	slices.Sort(vars)
	return vars
}
