package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A jobHost is the core's host for jobs. Before each event it searches for the plugins that a
// manifest names, because they may have been installed, repaired or removed while the daemon runs.
type jobHost struct {
	*Core
	dir string // plugins run in the project of this directory; "": the daemon's own
}

// At returns a host whose plugins run in the project of dir.
func (h jobHost) At(dir string) job.Host { return jobHost{h.Core, dir} }

// Fire fires an event.
func (h jobHost) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	if len(hook.ChoiceOf(ctx).Plugins) == 0 && !h.connects(point) {
		h.dir = "" // no plugin is asked: do not start a project's plugins
	}
	host, done, err := h.plugins(ctx, point)
	if err != nil {
		return nil, err
	}
	defer done()
	return host.Fire(ctx, point, payload)
}

// connects reports whether the configuration connects a plugin to a point.
func (h jobHost) connects(point hook.Point) bool {
	return slices.ContainsFunc(h.Config().Connect, func(c config.Connect) bool { return hook.Point(c.Point) == point })
}

// plugins returns the plugins for a point, and a function to call when they are no longer in use.
// If the project's plugins cannot be started, a notification goes to the daemon's own plugins,
// because it may report this failure.
func (h jobHost) plugins(ctx context.Context, point hook.Point) (*pluginhost.Host, func(), error) {
	host, done, err := h.projects.in(ctx, h.dir)
	if err != nil && point == hook.JobNotify && ctx.Err() == nil {
		h.log.Warn("cannot start the plugins of an agent's project: asking the daemon's own", "dir", h.dir, "err", err)
		return h.projects.in(ctx, "")
	}
	return host, done, err
}

// FindPlugin searches for a plugin, and returns an error if it cannot be asked at a point. If the
// search fails, the known plugins stay as they are.
func (h jobHost) FindPlugin(ctx context.Context, plugin string, point hook.Point) error {
	host, done, err := h.plugins(ctx, point)
	if err != nil {
		return err
	}
	defer done()
	if h.findPlugin(ctx, host, plugin); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o := obstacleTo(host, plugin, point); o != nil {
		return o
	}
	return nil
}

// findPlugin searches for a plugin that a manifest names. If the host opens only plugins that are
// named, it opens this one. If there is none with this name, it opens all: one of them may call
// itself so.
func (c *Core) findPlugin(ctx context.Context, host *pluginhost.Host, plugin string) {
	search := func() {
		if err := host.Refresh(ctx, job.PluginDialect); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot search for plugins again", "err", err)
		}
	}
	c.named.add(plugin)
	search()
	if _, err := host.Plugin(job.PluginDialect + ":" + plugin); err != nil && c.named.addAll() {
		search()
	}
}

// A namedPlugins holds the names of the plugins that the manifests of runs in this process name.
type namedPlugins struct {
	mu    sync.Mutex // protects the fields below
	names map[string]bool
	all   bool // open every plugin
}

func (n *namedPlugins) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = make(map[string]bool)
	}
	n.names[name] = true
}

// addAll adds every plugin. It reports whether some were missing.
func (n *namedPlugins) addAll() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.all
	n.all = true
	return !before
}

// needs returns a function that reports whether a plugin is opened. Of the plugins of jobs it
// selects only those that were added, because the runs call no others. If the function also is not
// nil, a plugin is opened only if that function selects it too.
func (n *namedPlugins) needs(also func(pluginhost.Candidate) bool) func(pluginhost.Candidate) bool {
	return func(c pluginhost.Candidate) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if c.Dialect == job.PluginDialect && !n.all && !n.names[c.Place] {
			return false
		}
		return also == nil || also(c)
	}
}

// jobKinds maps the points of a job to the kind of plugin that is asked there.
var jobKinds = map[hook.Point]string{hook.JobPreflight: "preflight", hook.JobSink: "sink", hook.JobNotify: "notify"}

// kindLists maps a kind of plugin to the list of the manifest that names plugins of that kind.
var kindLists = map[string]string{"preflight": "[[preflight]]", "sink": "[[on_success]]", "notify": "[[on_failure]]"}

// lists names the lists of a manifest for plugins of these kinds.
func lists(kinds []string) string {
	var names []string
	for _, k := range kinds {
		names = append(names, kindLists[k])
	}
	return strings.Join(names, " or ")
}

// An obstacle is the reason why a plugin that a manifest names cannot be asked.
type obstacle struct {
	severity pluginhost.Severity // of the finding about it
	err      error
	fix      string // what to do, if the error does not say so; may be empty
}

func (o *obstacle) Error() string { return o.err.Error() }

func (o *obstacle) Unwrap() error { return o.err }

// Fix tells how to remove the obstacle, or returns "".
func (o *obstacle) Fix() string { return o.fix }

// fixOf tells how to repair a plugin that is not ready.
func fixOf(host *pluginhost.Host, p *pluginhost.PluginDetail) string {
	if p.State == dialect.Disabled {
		return "`patchbay plugin enable " + program.Quote(p.Name) + "`"
	}
	for _, f := range host.Doctor() {
		if f.Plugin == p.Name && f.Dialect == p.Dialect && f.Severity == pluginhost.SeverityError && f.Fix != "" {
			return f.Fix
		}
	}
	return "`patchbay plugin info " + program.Quote(p.Dialect+":"+p.Name) + "` says what is wrong with it"
}

// notForThisSystem returns the obstacle of an unsupported plugin. A preflight that cannot be asked
// refuses every run.
func notForThisSystem(plugin string, point hook.Point) *obstacle {
	severity, effect := pluginhost.SeverityWarning, "it is not called"
	if point == hook.JobPreflight {
		severity, effect = pluginhost.SeverityError, "every run is refused"
	}
	return &obstacle{severity, fmt.Errorf("plugin %s is not for this system, so %s", plugin, effect),
		"remove it here, or run the agent on a system that the plugin is for: `patchbay plugin info " + program.Quote(job.PluginDialect+":"+plugin) + "` lists these systems"}
}

// notFoundFix tells what to do about a plugin that is not installed.
func notFoundFix(host *pluginhost.Host, plugin string) string {
	fix := fmt.Sprintf("put dotagent-plugin-%s into a directory that is searched: %s, or one of $PATH", plugin, strings.Join(host.FoldersOf(job.PluginDialect), ", "))
	var names []string
	for _, p := range host.Plugins() {
		if p.Dialect == job.PluginDialect {
			names = append(names, p.Name)
		}
	}
	if meant := dialect.Meant(plugin, names); meant != "" {
		return meant + " If not, " + fix
	}
	return fix
}

// obstacleTo returns why a plugin cannot be asked at a point of a job, or nil if it can.
func obstacleTo(host *pluginhost.Host, plugin string, point hook.Point) *obstacle {
	p, err := host.Plugin(job.PluginDialect + ":" + plugin)
	switch {
	case err != nil: // not found; a full name cannot be ambiguous
		return &obstacle{pluginhost.SeverityError, &job.NoPluginError{Plugin: plugin}, notFoundFix(host, plugin)}
	case p.Name != plugin: // docs/protocols/dotagent.md: the name of the file counts
		return &obstacle{pluginhost.SeverityError, &job.NoPluginError{Plugin: plugin},
			fmt.Sprintf("%s calls itself %s, but the name of its file counts: write plugin = %q, or rename the file", p.Path, plugin, p.Name)}
	case p.State == dialect.Unsupported:
		return notForThisSystem(plugin, point)
	case p.State != dialect.Ready:
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is %s: %s", plugin, p.State, text(p.Error)), fixOf(host, p)}
	case !slices.ContainsFunc(p.Wiring, func(w pluginhost.Wire) bool { return w.Point == point }):
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is not a %s plugin: its kinds are %s", plugin, jobKinds[point], strings.Join(p.Kinds, ", ")),
			"name it in " + lists(p.Kinds) + ", or another plugin here"}
	}
	return nil
}
