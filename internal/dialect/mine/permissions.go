package mine

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// without returns the permissions without the variables that were withheld.
func (p *permissions) without(withheld []string) *permissions {
	rest := *p
	rest.envVars = slices.DeleteFunc(slices.Clone(p.envVars), func(name string) bool { return slices.Contains(withheld, "env:"+name) })
	return &rest
}

// needs translates the permissions to capabilities. network allows every host or none. A directory
// of filesystem may be read and changed. store is the folder of that name in mine's data, without
// the plugins beside it. config_read and config_write are about mine's own configuration. Plugins
// cannot declare which programs they start, so programs are not among the needs. A path that is
// neither absolute nor below ~ is ignored.
func (p *permissions) needs(env dialect.Env) []capability.Capability {
	needs := []capability.Capability{{Kind: capability.NetNone}}
	if p.network {
		needs[0].Kind = capability.NetAny
	}
	add := func(kind capability.Kind, path string) {
		if filepath.IsAbs(path) {
			needs = append(needs, capability.Capability{Kind: kind, Path: filepath.Clean(path)})
		}
	}
	for _, dir := range p.filesystem {
		if belowHome(dir) {
			dir = env.InHome(dir[1:])
		}
		add(capability.WriteFS, dir)
	}
	if data := env.DataHome(); p.store && data != "" {
		add(capability.WriteFS, filepath.Join(data, Name, "store"))
	}
	switch {
	case p.configWrite:
		add(capability.WriteFS, configDir(env))
	case p.configRead:
		add(capability.ReadFS, configDir(env))
	}
	return needs
}

// optional returns the needs whose path may be missing: mine's configuration, on a machine without
// mine.
func optional(env dialect.Env) []capability.Capability {
	return []capability.Capability{{Kind: capability.ReadFS, Path: configDir(env)}}
}

// belowHome reports whether a path begins with the user's home, ~. ~bob is the home of another
// user.
func belowHome(dir string) bool { return dir == "~" || strings.HasPrefix(dir, "~/") }
