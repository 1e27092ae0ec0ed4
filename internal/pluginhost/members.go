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

// A Member is a plugin as a package that knows its dialect sees it.
type Member struct {
	Found  dialect.Found
	Place  string         // the name of its file or directory
	Info   dialect.Info   // as declared, then as opened
	Plugin dialect.Plugin // nil unless it is open
	Err    error          // why it is not
}

// Members lists the plugins of a dialect. It does not look for new ones: [Host.Refresh] does.
func (h *Host) Members(dialectName string) []Member {
	var list []Member
	for _, e := range h.roster().entries {
		if e.found.Dialect == dialectName {
			list = append(list, Member{Found: e.found, Place: e.names.place, Info: e.info, Plugin: e.plugin, Err: e.err})
		}
	}
	return list
}

// Env is the environment by which dialects find their places.
func (h *Host) Env() dialect.Env { return h.setup().env }

// Draft returns what a plugin would be opened with at this moment, be it there or not: what the
// configuration gives it, and a runtime with the sandbox and the limits that it is held to. The
// error is a [hook.Unavailable].
func (h *Host) Draft(f dialect.Found) (*dialect.Runtime, dialect.Settings, error) {
	draft := &entry{found: f, names: bearerOf(f)}
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

// Trial returns a runtime for code that is not trusted: its sandbox has nothing in it. Where there
// can be no sandbox, the runtime has none, and unboxed says why.
func (h *Host) Trial(dialectName, name string) (rt *dialect.Runtime, unboxed error) {
	rt = h.runtime(h.logOf(dialectName, name))
	return rt, h.trialBox(rt)
}

// trialBox makes the runtime's sandbox one in which code has nothing, or says why there is none.
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
