package pluginhost

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A Member is a plugin, for packages that know its dialect.
type Member struct {
	Found  dialect.Found
	Place  string         // the name of its file or directory
	Info   dialect.Info   // from its files, then from the running plugin
	Plugin dialect.Plugin // nil if it is not open
	Err    error          // why it is not open
}

// Members lists the plugins of a dialect. It does not search for new ones: [Host.Refresh] does.
func (h *Host) Members(dialectName string) []Member {
	var list []Member
	for _, e := range h.roster().entries {
		if e.found.Dialect == dialectName {
			list = append(list, Member{Found: e.found, Place: e.names.place, Info: e.info, Plugin: e.plugin, Err: e.err})
		}
	}
	return list
}

// Env returns the environment in which dialects find their places.
func (h *Host) Env() dialect.Env { return h.setup().env }

// Draft returns the runtime and the settings with which a plugin would be opened now, whether or
// not the host has it. The runtime has the plugin's sandbox and limits. The error is a
// [hook.Unavailable].
func (h *Host) Draft(f dialect.Found) (*dialect.Runtime, dialect.Settings, error) {
	draft := &entry{found: f, names: namesOf(f)}
	draft.info.Name = f.Name
	names := h.roster().names
	if !names.has(draft.names) {
		names = append(slices.Clone(names), draft.names)
	}
	if h.configure(draft, names); draft.err != nil {
		return nil, dialect.Settings{}, hook.Failure(hook.Unavailable, draft.err)
	}
	rt := h.runtime(h.logOf(f.Dialect, f.Name))
	if err := h.confine(draft, rt); err != nil {
		return nil, dialect.Settings{}, hook.Failure(hook.Unavailable, err)
	}
	return rt, draft.settings, nil
}

// Trial returns a runtime for untrusted code. Its sandbox grants no capability. If no sandbox is
// possible, the runtime has none, and unboxed says why.
func (h *Host) Trial(dialectName, name string) (rt *dialect.Runtime, unboxed error) {
	rt = h.runtime(h.logOf(dialectName, name))
	return rt, h.trialBox(rt)
}

// trialBox gives the runtime a sandbox that grants no capability, or returns why it cannot.
func (h *Host) trialBox(rt *dialect.Runtime) error {
	if h.setup().config.Sandbox == config.SandboxOff {
		return errors.New("the configuration says sandbox = \"off\"")
	}
	system := h.system()
	if err := system.Possible(); err != nil {
		return err
	}
	guarded, err := h.guarded(nil)
	if err != nil {
		return err
	}
	rt.Box = func(...string) proc.Box {
		return sandbox.New(sandbox.Options{Environ: h.setup().Environ, Guarded: guarded, System: system, Log: rt.Log})
	}
	return nil
}

func (h *Host) logOf(dialectName, name string) *slog.Logger {
	return h.setup().Logger.With("plugin", name, "dialect", dialectName)
}
