package cli

import (
	"slices"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// pluginFolders returns the directories in which Patchbay looks for plugins.
func (a *app) pluginFolders() []dialect.Folder {
	all := pluginhost.PluginFolders(a.Environ)
	if len(a.flags.dialects) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p dialect.Folder) bool { return !slices.Contains(a.flags.dialects, p.Dialect) })
}
