package mine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// An absent plugin has a manifest that can be read, but cannot be opened: its program is missing or
// not executable, or the manifest has a fault. Its hooks are registered as usual, and each call of
// these hooks fails: docs/when-a-plugin-cannot-be-asked.md.
type absent struct {
	manifest *manifest
	why      error
}

// Declared returns the hooks of a plugin that cannot be opened; each of them fails with why. The
// set is nil if the manifest cannot be read or has no hooks. whole is false if the set is nil, or
// if the manifest has hooks that cannot be read.
func (*Dialect) Declared(f dialect.Found, why error) (set dialect.HookSet, whole bool) {
	m, ok := f.Manifest.(*manifest)
	if !ok || len(m.hooks) == 0 {
		return nil, false
	}
	return &absent{m, why}, !m.unread
}

// early is the translation of a postexec hook of an absent plugin at the point before its command
// runs.
var early = translation{stage: stagePostexec, point: hook.CommandBefore, command: "command"}

// Hooks returns the hooks of the manifest. A postexec hook fails before its command as well, so
// that the command is refused and does not run first: docs/protocols/mine.md, row M30.
func (a *absent) Hooks() []hook.Hook {
	hooks := a.manifest.nativeHooks(a.fails)
	if errors.Is(a.why, hook.Outdated) {
		return hooks // it refuses nothing
	}
	for _, r := range a.manifest.at(stagePostexec) {
		hooks = append(hooks, newHook(&early, []registration{r}, a.fails))
	}
	return hooks
}

// Connect returns one of the plugin's stages at another point.
func (a *absent) Connect(name string, point hook.Point) (hook.Hook, error) {
	return a.manifest.connect(name, point, a.fails)
}

// fails is the [caller] of an absent plugin: every call fails.
func (a *absent) fails(*translation) call {
	return func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, a.why }
}

// A call is a function that calls a plugin for one event. A caller returns the call for a stage at
// a point.
type (
	call   func(context.Context, *hook.Event) (hook.Reply, error)
	caller func(*translation) call
)

// nativeHooks returns the manifest's hooks, each at the point of its stage. They are in the order
// of docs/protocols/mine.md, row M37; the hub keeps the order among hooks of one plugin.
func (m *manifest) nativeHooks(of caller) []hook.Hook {
	var hooks []hook.Hook
	for _, r := range m.hooks {
		hooks = append(hooks, newHook(nativeAt(r.stage), []registration{r}, of))
	}
	return hooks
}

// connect returns one of the plugin's stages at another point. If the manifest has several hooks of
// that stage, the plugin is called once, if any of their patterns matches: the message does not say
// for which hook the plugin is called.
func (m *manifest) connect(name string, point hook.Point, of caller) (hook.Hook, error) {
	have := m.at(name)
	if len(have) == 0 {
		return hook.Hook{}, dialect.NoHook(m.name, name, m.stages())
	}
	t, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return newHook(t, have, of), nil
}

// newHook returns a hook for some registrations of one stage. It is called only if one of their
// patterns matches the event's command. A notify hook that fails never aborts the event, even if
// the point's mode is chain: docs/protocols/mine.md, row M39.
func newHook(t *translation, of []registration, by caller) hook.Hook {
	h := hook.Hook{Name: t.stage, Point: t.point, Call: by(t), For: patterns(of), OwnMode: modeOf(t.stage)}
	if t.command != "" {
		h.Match = func(ev *hook.Event) bool { return t.wanted(of, ev.Payload) }
	}
	for _, r := range of {
		h.Timeout = max(h.Timeout, r.timeout)
	}
	if !slices.ContainsFunc(of, func(r registration) bool { return !r.tells }) {
		h.OnFailure = hook.ActionSkip
	}
	return h
}

// patterns joins the patterns of some registrations, without repetitions.
func patterns(of []registration) string {
	var all []string
	for _, r := range of {
		if !slices.Contains(all, r.pattern) {
			all = append(all, r.pattern)
		}
	}
	return strings.Join(all, " ")
}

// outdated returns an error if the manifest asks for another major version of the protocol,
// whatever other problems it has.
func outdated(problems []dialect.Problem) error {
	for _, p := range problems {
		if strings.HasPrefix(p.Message, unsupportedVersion) {
			return hook.Failure(hook.Outdated, errors.New(p.Message))
		}
	}
	return nil
}

// unsupportedVersion begins the message about a manifest for another major version.
const unsupportedVersion = "plugin.protocol_version: unsupported protocol version"

// upgrade is the fix for a plugin that speaks another version of the protocol.
const upgrade = "install a release of the plugin that is made for protocol " + protocolVersion
