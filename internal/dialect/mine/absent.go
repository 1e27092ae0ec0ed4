package mine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// An absent plugin is one whose manifest can be read and that cannot be opened: its program is
// missing, or not executable, or the manifest is at fault. It was installed to be asked, so its
// hooks are where they would be, and every one of them fails:
// docs/when-a-plugin-cannot-be-asked.md.
type absent struct {
	manifest *manifest
	why      error
}

// Declared are the hooks of a plugin that cannot be opened, which fail with why. A manifest that
// cannot be read declares none.
func (*Dialect) Declared(f dialect.Found, why error) (dialect.Wiring, bool) {
	m, ok := f.Manifest.(*manifest)
	if !ok || len(m.hooks) == 0 {
		return nil, false
	}
	return &absent{m, why}, true
}

// Hooks are those of the manifest that could be read.
func (a *absent) Hooks() []hook.Hook { return a.manifest.wireAll(a.fails) }

// Connect is one of its stages at another point.
func (a *absent) Connect(name string, point hook.Point) (hook.Hook, error) {
	return a.manifest.connect(name, point, a.fails)
}

// fails is the call of each of its hooks.
func (a *absent) fails(*translation) call {
	return func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, a.why }
}

// A call asks a plugin at a hook; a caller makes one for a stage at a point.
type (
	call   func(context.Context, *hook.Event) (hook.Reply, error)
	caller func(*translation) call
)

// wireAll are the manifest's hooks, each at the point of its stage. They are in the protocol's
// order, which the hub keeps among hooks of one plugin.
func (m *manifest) wireAll(of caller) []hook.Hook {
	var hooks []hook.Hook
	for _, r := range m.hooks {
		hooks = append(hooks, wired(nativeAt(r.stage), []registration{r}, of))
	}
	return hooks
}

// connect is one of the plugin's stages at another point than its own. Where the manifest has
// several hooks in it, the plugin is asked once, if any of their patterns fits: it could not tell
// one hook from another.
func (m *manifest) connect(name string, point hook.Point, of caller) (hook.Hook, error) {
	have := m.at(name)
	if len(have) == 0 {
		return hook.Hook{}, dialect.NoHook(m.name, name, m.stages())
	}
	t, err := connection(name, point)
	if err != nil {
		return hook.Hook{}, err
	}
	return wired(t, have, of), nil
}

// wired is a hook. One that is not for the event's command is not asked. The protocol says of
// notify hooks that their "failures are logged but do not abort the command", also where the point
// is a chain.
func wired(t *translation, of []registration, by caller) hook.Hook {
	h := hook.Hook{Name: t.stage, Point: t.point, Call: by(t), For: patterns(of), OwnMode: modeOf(t.stage)}
	if t.command != "" {
		h.Match = func(ev *hook.Event) bool { return anyMatches(of, dialect.Plain(ev.Payload.Get(t.command))) }
	}
	for _, r := range of {
		h.Timeout = max(h.Timeout, r.timeout)
	}
	if !slices.ContainsFunc(of, func(r registration) bool { return !r.tells }) {
		h.OnFailure = hook.ActionSkip
	}
	return h
}

// patterns are those of some registrations, each once.
func patterns(of []registration) string {
	var all []string
	for _, r := range of {
		if !slices.Contains(all, r.pattern) {
			all = append(all, r.pattern)
		}
	}
	return strings.Join(all, " ")
}

// outdated is the error of a manifest that asks for another major version of the protocol. Whatever
// else is wrong with it, that is the reason.
func outdated(problems []dialect.Problem) error {
	for _, p := range problems {
		if strings.HasPrefix(p.Message, unsupportedVersion) {
			return hook.Failure(hook.Outdated, errors.New(p.Message))
		}
	}
	return nil
}

// unsupportedVersion begins the problem of such a manifest.
const unsupportedVersion = "plugin.protocol_version: unsupported protocol version"
