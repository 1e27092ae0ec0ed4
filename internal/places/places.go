// Package places lists Patchbay's own places on disk: what a plugin that could write there would be out of its sandbox with, and what it must
// not read. Package sandbox keeps plugins from them.
package places

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// Own lists the places: configuration, agents and plugins, which may be read; secrets, what is kept, and sockets, which may not.
// plugins are the directories and files in which plugins were looked for or found.
func Own(dirs config.Dirs, c *config.Config, plugins []string) ([]sandbox.Place, error) {
	agents, err := dirs.JobDirs(c)
	if err != nil {
		return nil, err
	}
	list := []sandbox.Place{
		{Path: dirs.Config, Make: true},
		{Path: dirs.ConfigFile, Hidden: !c.Server.Token.Empty()},
		{Path: editfile.BackupOf(dirs.ConfigFile), Hidden: !c.Server.Token.Empty()},
		{Path: dirs.SecretsFile, Hidden: true},
		{Path: dirs.Data, Make: true, Hidden: true},
		{Path: dirs.State, Make: true, Hidden: true},
		{Path: localsock.RuntimeDir(), Make: true, Hidden: true},
	}
	list = append(list, dotagent(dirs.DotagentSecrets())...)
	for _, dir := range append(agents, plugins...) {
		list = append(list, sandbox.Place{Path: dir, Make: true})
	}
	// Without a home some of them are nowhere.
	return slices.DeleteFunc(list, func(p sandbox.Place) bool { return !filepath.IsAbs(p.Path) }), nil
}

// dotagent keeps secrets as well. They can only be hidden where their directory is there.
func dotagent(secrets string) []sandbox.Place {
	if secrets == "" {
		return nil
	}
	dir := filepath.Dir(secrets)
	list := []sandbox.Place{{Path: dir, Make: true}}
	if _, err := os.Stat(dir); err == nil {
		list = append(list, sandbox.Place{Path: secrets, Hidden: true})
	}
	return list
}
