package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A jobHost is the core's host as jobs see it. It looks for the plugins that a manifest names
// before each event that is for them: one may have been installed, mended or removed while the
// daemon runs.
type jobHost struct {
	*Core
	dir string // in whose project plugins run; "": the daemon's own
}

// At has plugins run in the project of a directory.
func (h jobHost) At(dir string) job.Host { return jobHost{h.Core, dir} }

// Fire takes an event through plugins.
func (h jobHost) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	if len(hook.ChoiceOf(ctx).Plugins) == 0 && !h.connects(point) {
		h.dir = "" // nobody will be asked: no project's plugins are started for that
	}
	host, done, err := h.plugins(ctx, point)
	if err != nil {
		return nil, err
	}
	defer done()
	return host.Fire(ctx, point, payload)
}

// connects tells whether the configuration connects a plugin to a point.
func (h jobHost) connects(point hook.Point) bool {
	return slices.ContainsFunc(h.Config().Connect, func(c config.Connect) bool { return hook.Point(c.Point) == point })
}

// plugins are those that are asked at a point, and a function that says that they are not used any
// more. What is to be told is told by the daemon's own plugins where the project cannot be worked
// in: that may be what is to be told.
func (h jobHost) plugins(ctx context.Context, point hook.Point) (*pluginhost.Host, func(), error) {
	host, done, err := h.projects.in(ctx, h.dir)
	if err != nil && point == hook.JobNotify && ctx.Err() == nil {
		h.log.Warn("the plugins of an agent's project cannot be asked: the daemon's own are", "dir", h.dir, "err", err)
		return h.projects.in(ctx, "")
	}
	return host, done, err
}

// FindPlugin looks for a plugin, and says why it cannot be asked at a point. A search that fails
// leaves the plugins as they were.
func (h jobHost) FindPlugin(ctx context.Context, plugin string, point hook.Point) error {
	host, done, err := h.plugins(ctx, point)
	if err != nil {
		return err
	}
	defer done()
	if err := host.Refresh(ctx, job.PluginDialect); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.log.Warn("plugins are not looked for again", "err", err)
	}
	if o := obstacleTo(host, plugin, point); o != nil {
		return o
	}
	return nil
}

// jobKinds are the kinds of plugin that are asked at the points of a job.
var jobKinds = map[hook.Point]string{hook.JobPreflight: "preflight", hook.JobSink: "sink", hook.JobNotify: "notify"}

// kindLists are the lists of a manifest in which plugins of a kind are named.
var kindLists = map[string]string{"preflight": "[[preflight]]", "sink": "[[on_success]]", "notify": "[[on_failure]]"}

// lists are the lists of a manifest that are for plugins of these kinds.
func lists(kinds []string) string {
	var names []string
	for _, k := range kinds {
		names = append(names, kindLists[k])
	}
	return strings.Join(names, " or ")
}

// An obstacle is why a plugin that a manifest names cannot be asked.
type obstacle struct {
	severity pluginhost.Severity // of the finding that it is
	err      error
	fix      string // beyond what the error says itself; may be empty
}

func (o *obstacle) Error() string { return o.err.Error() }

func (o *obstacle) Unwrap() error { return o.err }

// Fix is what mends it; "" where nothing is known.
func (o *obstacle) Fix() string { return o.fix }

// fixOf is what mends a plugin that is not ready.
func fixOf(host *pluginhost.Host, p *pluginhost.PluginDetail) string {
	for _, f := range host.Doctor() {
		if f.Plugin == p.Name && f.Dialect == p.Dialect && f.Severity == pluginhost.SeverityError && f.Fix != "" {
			return f.Fix
		}
	}
	return "`patchbay plugin info " + p.Dialect + ":" + p.Name + "` says what is wrong with it"
}

// obstacleTo is why a plugin cannot be asked at a point of a job; nil where it can.
func obstacleTo(host *pluginhost.Host, plugin string, point hook.Point) *obstacle {
	p, err := host.Plugin(job.PluginDialect + ":" + plugin)
	switch {
	case err != nil: // not found: the name is whole, so it is not ambiguous
		return &obstacle{pluginhost.SeverityError, &job.NoPluginError{Plugin: plugin},
			fmt.Sprintf("put dotagent-plugin-%s into a directory that is searched: %s, or one of $PATH", plugin, strings.Join(host.PlacesOf(job.PluginDialect), ", "))}
	case p.State == dialect.Unsupported:
		return &obstacle{pluginhost.SeverityWarning, fmt.Errorf("plugin %s is not for this system", plugin), ""}
	case p.State != dialect.Ready:
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is %s: %s", plugin, p.State, text(p.Error)), fixOf(host, p)}
	case !slices.ContainsFunc(p.Wiring, func(w pluginhost.Wire) bool { return w.Point == point }):
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is no %s plugin, but %s", plugin, jobKinds[point], strings.Join(p.Kinds, ", ")),
			"name it in " + lists(p.Kinds) + ", or another plugin here"}
	}
	return nil
}
