package pluginhost

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/places"
)

// Searched lists every directory in which plugins are looked for in this environment: those of
// [Places], and those of PATH, in which a plugin of dotagent may lie. Of PATH the system's own
// directories are left out: whoever may write there can replace the programs that everybody runs.
func Searched(environ []string) []string {
	var dirs []string
	for _, p := range Places(environ) {
		dirs = append(dirs, p.Dir)
	}
	env := dialect.Env{Vars: environ}
	for _, dir := range filepath.SplitList(env.Get("PATH")) {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = env.InHome(rest) // as dotagent reads it
		}
		if abs, err := filepath.Abs(dir); dir != "" && err == nil && !slices.Contains(places.SystemPrograms, abs) {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// PlacesOf lists the directories in which plugins of a dialect are looked for.
func (h *Host) PlacesOf(dialectName string) []string {
	var dirs []string
	for _, p := range Places(h.setup().Environ) {
		if p.Dialect == dialectName {
			dirs = append(dirs, p.Dir)
		}
	}
	return dirs
}
