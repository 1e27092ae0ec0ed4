package mine

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// without are the permissions less the variables that were not granted.
func (p *permissions) without(withheld []string) *permissions {
	rest := *p
	rest.envVars = slices.DeleteFunc(slices.Clone(p.envVars), func(name string) bool { return slices.Contains(withheld, "env:"+name) })
	return &rest
}

// needs are the permissions in the words of the sandbox. The network is all or nothing here; a
// directory of filesystem is one to work in, to be read and changed; store is the folder of that
// name among mine's data, not the plugins beside it; config_read and config_write are mine's own
// configuration. What programs a plugin starts it has no way to declare, so any may be. A path that
// is not absolute, or below ~, means nothing that could be granted.
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
		if below, ok := strings.CutPrefix(dir, "~"); ok && (below == "" || below[0] == '/') { // ~bob is somebody else's home
			dir = env.InHome(below)
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
