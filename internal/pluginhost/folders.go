package pluginhost

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/places"
)

// Searched lists every directory that is searched for plugins in this environment: those of
// [PluginFolders], and those of PATH, where a dotagent plugin may be. It leaves out the system's
// own directories of PATH: a user who may write there can replace every program anyway.
func Searched(environ []string) []string {
	var dirs []string
	for _, p := range PluginFolders(environ) {
		dirs = append(dirs, p.Dir)
	}
	env := dialect.Env{Vars: environ}
	for _, dir := range filepath.SplitList(env.Get("PATH")) {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = env.InHome(rest) // dotagent expands ~ too
		}
		if abs, err := filepath.Abs(dir); dir != "" && err == nil && !slices.Contains(places.SystemPrograms, abs) {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// FoldersOf lists the directories that are searched for plugins of a dialect.
func (h *Host) FoldersOf(dialectName string) []string {
	var dirs []string
	for _, p := range PluginFolders(h.setup().Environ) {
		if p.Dialect == dialectName {
			dirs = append(dirs, p.Dir)
		}
	}
	return dirs
}
