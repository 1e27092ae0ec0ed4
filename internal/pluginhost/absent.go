package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// This file handles plugins that are installed but cannot be called. None is left out silently. If
// the hooks of such a plugin are known, they are on the bus and fail, and the failure table decides
// what happens to an event. If they are not known, the host logs that the plugin is left out. The
// rules for each dialect and point are in docs/when-a-plugin-cannot-be-asked.md.

// wireAbsent wires failing hooks for each broken plugin whose hooks are known from its files, and
// logs every plugin that is left out. A plugin for another system is left out without a message,
// unless its failure must end events.
func (h *Host) wireAbsent(r *roster) {
	for _, e := range r.entries {
		closes := e.own.failureEndsEvents()
		if e.leftOut || e.plugin != nil || e.state != dialect.Broken && e.state != dialect.Skipped && (e.state != dialect.Unsupported || !closes) {
			continue
		}
		e.leftOut = true
		whole := false
		if d, ok := e.dialect.(dialect.Declarer); ok && e.state == dialect.Broken {
			e.absent, whole = d.Declared(e.found, e.unavailable())
		}
		if !whole && (e.state != dialect.Skipped || e.isSurplus()) && closes {
			e.absent, whole = allPoints{e.dialect.Points(), e.unavailable()}, true
		}
		h.logLeftOut(e, whole)
	}
}

// failureEndsEvents reports whether the configuration wants events to end if the plugin fails.
func (own sections) failureEndsEvents() bool {
	action := first(own, func(p config.Plugin) config.OnFailure { return p.OnFailure })
	return action == config.FailDeny || action == config.FailAbort
}

// allPoints is the wiring of a plugin whose hooks are not known and whose failure must end events:
// a hook at each point of its dialect, which fails with why. Otherwise an event would go on without
// the plugin although the operator has forbidden that.
type allPoints struct {
	points []hook.Point
	why    error
}

func (a allPoints) Hooks() []hook.Hook {
	var hooks []hook.Hook
	for _, p := range a.points {
		hooks = append(hooks, a.at("any", p))
	}
	return hooks
}

func (a allPoints) Connect(name string, point hook.Point) (hook.Hook, error) {
	return a.at(name, point), nil
}

func (a allPoints) at(name string, point hook.Point) hook.Hook {
	return hook.Hook{Name: name, Point: point, Call: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, a.why }}
}

// logLeftOut logs that a plugin is left out. If all its hooks are wired, the level is only info,
// because each event that reaches them reports the failure.
func (h *Host) logLeftOut(e *entry, wired bool) {
	level := slog.LevelWarn
	if wired {
		level = slog.LevelInfo
	}
	message, fix := e.explained()
	attrs := []any{"plugin", e.info.Name, "dialect", e.found.Dialect, "err", message, dialect.FindingKey, true}
	if fix != "" {
		attrs = append(attrs, "fix", fix)
	}
	text := "plugin left out"
	if e.absent != nil && len(e.absent.Hooks()) > 0 && !wired {
		text = "some of its hooks cannot be read, so events go on without them" // the others fail
	}
	h.setup().Logger.Log(context.Background(), level, text, attrs...)
}

// explained returns why a plugin is not ready, and how to fix it.
func (e *entry) explained() (message, fix string) {
	if e.err == nil {
		return "", "" // plugins are not started
	}
	message, fix = splitFix(e.err)
	switch n := len(e.found.Problems); {
	case fix != "" || e.state != dialect.Broken || e.found.Path == "":
	case n == 1 && e.found.Problems[0].Fix != "":
		fix = e.found.Problems[0].Fix
	case n > 0:
		fix = "`patchbay plugin validate " + program.Quote(e.info.Name) + "` lists everything that is wrong with it"
	default:
		fix = lookAt(e, e.found.Dialect, dialect.Problem{Path: e.found.Path})
	}
	return message, fix
}

// A placeProblem is a problem that a dialect found in its places, and that belongs to no plugin.
type placeProblem struct {
	dialect.Problem
	of dialect.Dialect
}

// placeProblems lists the problems in the places of the dialects that belong to no plugin, such as
// a script that cannot be executed, or a place whose plugins cannot be listed.
func (h *Host) placeProblems() []placeProblem {
	chosen, err := h.setup().chosen()
	if err != nil || h.setup().NoSearch || h.setup().Dirs != nil {
		return nil
	}
	var all []placeProblem
	for _, d := range chosen {
		if x, ok := d.(dialect.Examiner); ok {
			for _, p := range x.Examine(h.setup().env) {
				all = append(all, placeProblem{p, d})
			}
		}
	}
	return all
}

// logPlaceProblems logs, once each, the problems that concern this host. Each of them may hide a
// plugin on which a user relies.
func (h *Host) logPlaceProblems(r *roster, all []placeProblem) {
	for _, p := range all {
		text, name := p.Path+": "+p.Message, p.of.Name()
		if !h.concerns(p.of, p.Problem, r.names) || !h.warned.first(text) {
			continue
		}
		left := "plugin left out"
		if dialect.Unlisted(p.Problem) {
			left = "plugins left out"
		}
		h.setup().Logger.Warn(left, "plugin", strings.TrimPrefix(scriptName(name, p.Problem), name+":"), "dialect", name,
			"err", dialect.WithFix(errors.New(text), p.Fix), dialect.FindingKey, true)
	}
}

// logMisspelt logs the misspelt keys and patterns in a plugin's manifest, once and in one message.
// They may hide a hook, which is then not called. So the plugin's hooks count as unknown when
// logMisspelt asks whether this host needs the plugin.
func (h *Host) logMisspelt(f dialect.Found, d dialect.Dialect, names census) {
	if len(f.Misspelt) == 0 || h.setup().NoStart {
		return
	}
	e := &entry{found: f, names: namesOf(f), dialect: d, info: dialect.Info{Name: f.Name}}
	e.found.Info = nil
	if _, disabled := h.setup().sections(e.names, names).disabled(); disabled || !h.needed(e) {
		return
	}
	p := f.Misspelt[0]
	text, fix := finding(SeverityWarning, e, f.Dialect, p).Where+": "+p.Message, p.Fix
	if more := len(f.Misspelt) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more mistakes", more)
		fix += "; `patchbay plugin validate " + program.Quote(f.Name) + "` lists all of them"
	}
	if h.warned.first(text) {
		h.setup().Logger.Warn(text, "plugin", f.Name, "dialect", f.Dialect, "fix", fix, dialect.FindingKey, true)
	}
}

// concerns reports whether a problem that belongs to no plugin may hide a plugin that this host
// needs.
func (h *Host) concerns(d dialect.Dialect, p dialect.Problem, names census) bool {
	f := dialect.Found{Dialect: d.Name(), Path: p.Path}
	if scriptName(d.Name(), p) != "" {
		f, _ = d.At(p.Path, h.setup().env)
	} else if !dialect.Unlisted(p) {
		return false
	}
	e := &entry{found: f, names: namesOf(f), dialect: d, info: dialect.Info{Name: f.Name}}
	_, disabled := h.setup().sections(e.names, names).disabled()
	return h.needed(e) && !disabled
}

// wiring returns the source of the entry's hooks, or nil if it has none.
func (e *entry) wiring() dialect.HookSet {
	if e.plugin == nil {
		return e.absent
	}
	return pluginWiring{e}
}

// pluginWiring is the wiring of a plugin that is ready.
type pluginWiring struct{ *entry }

func (w pluginWiring) Hooks() []hook.Hook { return w.plugin.Hooks() }

func (w pluginWiring) Connect(name string, point hook.Point) (hook.Hook, error) {
	connector, ok := w.plugin.(dialect.Connector)
	if !ok {
		return hook.Hook{}, fmt.Errorf("%s plugins cannot be connected to other points", w.found.Dialect)
	}
	return connector.Connect(name, point)
}

// unconnected returns the hook of a [[connect]] table whose plugin cannot be called. It always
// fails with why. At a gate, the failure refuses the event. Elsewhere the failure table decides,
// and the host logs the failure.
func unconnected(c config.Connect, dialectName string, why error) hook.Hook {
	return hook.Hook{Plugin: c.Plugin, Dialect: dialectName, Name: c.Hook, Point: hook.Point(c.Point), Connected: true, Priority: hook.DefaultPriority,
		Call: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, why }}
}

// onFailure returns on_failure of the table with a name, for a plugin that is not installed.
func (s *setup) onFailure(name string) hook.Action {
	_, bare, _ := strings.Cut(name, ":")
	return hook.Action(cmp.Or(s.config.Plugins[name].OnFailure, s.config.Plugins[bare].OnFailure))
}

// addScripts adds, to the plugins that are left out, the scripts that are not executable and whose
// failure must end events.
func (h *Host) addScripts(r *roster, all []placeProblem) {
	for _, p := range all {
		if scriptName(p.of.Name(), p.Problem) == "" {
			continue
		}
		f, ok := p.of.At(p.Path, h.setup().env)
		e := &entry{found: f, names: namesOf(f), dialect: p.of, tally: h.tallies.of(f), state: dialect.Broken,
			err: dialect.WithFix(errors.New(p.Message), p.Fix), info: dialect.Info{Name: f.Name, Priority: hook.DefaultPriority}}
		e.own = h.setup().sections(e.names, r.names)
		if _, disabled := e.own.disabled(); !ok || disabled || !e.own.failureEndsEvents() || !h.needed(e) {
			continue
		}
		e.absent = allPoints{p.of.Points(), e.unavailable()}
		r.scripts = append(r.scripts, e)
	}
}

// missing reports whether a [[connect]] table names a plugin that is not installed. It returns
// false in a host that opened only some plugins, because that host cannot know.
func (h *Host) missing(r *roster, c config.Connect) bool {
	some := h.setup().NoSearch || h.setup().Dialects != nil
	own := func(e *entry) bool { return e.found.Project == "" }
	return !some && len(r.names.withName(c.Plugin)) == 0 && !slices.ContainsFunc(r.meant(c.Plugin), own)
}

// errNoPlugin returns the error of calls to a connected plugin that is not installed.
func (r *roster) errNoPlugin(c config.Connect) error {
	for _, e := range r.scripts {
		if e.names.hasName(c.Plugin) {
			return e.unavailable()
		}
	}
	return hook.Failure(hook.Unavailable, dialect.WithFix(fmt.Errorf("[[connect]] names a plugin that is not installed: %s", c.Plugin), cmp.Or(dialect.Meant(c.Plugin, r.allNames()), "install the plugin, or remove the table")))
}

// allNames returns the names of every plugin that was found.
func (r *roster) allNames() []string {
	var names []string
	for _, b := range r.names {
		names = append(names, b.place, b.called)
	}
	return names
}

// logSkippedFailures logs the failures that did not end the event, because Fire returns no error
// for them. It omits those that the dialect has already logged, but says what to do about a plugin
// that was too slow. If the caller itself reports failures, they are logged at level info and not
// as warnings.
func (h *Host) logSkippedFailures(ctx context.Context, out *hook.Outcome) {
	level := slog.LevelWarn
	if hook.ChoiceOf(ctx).Reports {
		level = slog.LevelInfo
	}
	for i := range out.Steps {
		s := &out.Steps[i]
		if s.Err == nil || s.Action != hook.ActionSkip || s.Err.Logged && s.Err.Kind != hook.Timeout {
			continue
		}
		text, fix := skippedFailure(s.Err)
		attrs := []any{"plugin", s.Plugin, "dialect", s.Dialect, "err", text, "hook", s.Hook, "point", string(out.Point)}
		if fix != "" {
			attrs = append(attrs, "fix", fix)
		}
		if s.Err.Kind == hook.Unavailable || s.Err.Kind == hook.Outdated {
			attrs = append(attrs, dialect.EachHookKey, true)
		}
		h.setup().Logger.Log(ctx, level, "a hook failed and was skipped", attrs...)
	}
}

// skippedFailure returns the text of a failure that let the event go on, and its fix.
func skippedFailure(e *hook.Error) (text, fix string) {
	if lacks, ok := errors.AsType[*lackingError](e); ok {
		return e.Cause(), lacks.Fix()
	}
	_, fix = splitFix(e)
	text, ends := strings.CutSuffix(e.Cause(), "; "+fix)
	if !ends {
		fix = FailureFix(e)
	}
	return text, cmp.Or(skippedFix(e), fix)
}

// skippedFix returns the fix for a failure that let the event go on, or "" if the usual fix
// applies. A request that is too large for the protocol is not sent, and the event goes on. The fix
// then says how the plugin, which may be a guard, can refuse such an event.
func skippedFix(e *hook.Error) string {
	switch spec, _ := e.Point.Spec(); {
	case errors.Is(e, wire.ErrRequestTooLarge) && spec.Mode != hook.Notify:
		return fmt.Sprintf("send less; to refuse an event that the plugin cannot be asked about, set on_failure = \"deny\" in [%s] of the configuration",
			document.KeyPath("plugins", e.Plugin))
	case e.Kind == hook.Crash:
		return fmt.Sprintf("find out why it ended: `patchbay plugin logs %s` shows all that it wrote to stderr", program.Quote(e.Plugin))
	}
	return ""
}

// FailureFix returns what to do about a failed call to a plugin, by the kind of failure. It returns
// "" if the error itself says what to do, or if there is nothing to do.
func FailureFix(e *hook.Error) string {
	switch e.Kind {
	case hook.Timeout:
		key := "timeout"
		if e.Point == "" {
			key = "tool_timeout"
		}
		return fmt.Sprintf("`patchbay plugin logs %[1]s` shows what it wrote, and `patchbay plugin test %[1]s` tries it alone; if it only needs longer, set %[2]s in [%[3]s] of the configuration",
			program.Quote(e.Plugin), key, document.KeyPath("plugins", e.Plugin))
	case hook.TooLarge:
		return fmt.Sprintf("the plugin must send less, for example only the fields that it changes; tell its author, or disable it with `patchbay plugin disable %s`", program.Quote(e.Plugin))
	case hook.Outdated:
		return "install a release of the plugin that is made for this version of its protocol"
	case hook.Garbled:
		return fmt.Sprintf("the plugin does not follow its protocol, and `patchbay plugin test %s` shows where; tell its author, or disable it with `patchbay plugin disable %s`",
			program.Quote(e.Plugin), program.Quote(e.Plugin))
	}
	return ""
}

// unavailable returns the error of a call to a plugin that is not ready.
func (e *entry) unavailable() error {
	kind := hook.Unavailable
	if errors.Is(e.err, hook.Outdated) {
		kind = hook.Outdated
	}
	err := hook.Failure(kind, e.cause())
	err.Plugin, err.Dialect = e.info.Name, e.found.Dialect
	return err
}

// cause returns why a plugin cannot be called, with its fix.
func (e *entry) cause() error {
	if e.err == nil {
		return errors.New("it was not started")
	}
	cause := e.err
	if message, fix := e.explained(); message == e.err.Error() {
		cause = dialect.WithFix(e.err, fix)
	}
	if e.state == dialect.Disabled {
		return fmt.Errorf("it is %w", cause) // the text of the error begins with "disabled"
	}
	return fmt.Errorf("it is %s: %w", e.state, cause)
}
