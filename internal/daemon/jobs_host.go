package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A jobHost is the core's host as jobs see it. It looks for the plugins that a manifest names before each event that is for
// them: one may have been installed, mended or removed while the daemon runs.
type jobHost struct{ *Core }

// Fire takes an event through plugins.
func (h jobHost) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	return h.Host.Fire(ctx, point, payload)
}

// FindPlugin looks for a plugin, and says why it cannot be asked at a point. A search that fails leaves the plugins as they were.
func (h jobHost) FindPlugin(ctx context.Context, plugin string, point hook.Point) error {
	if err := h.Host.Refresh(ctx, job.PluginDialect); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.log.Warn("plugins are not looked for again", "err", err)
	}
	if o := obstacleTo(h.Host, plugin, point); o != nil {
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

// obstacleTo is why a plugin cannot be asked at a point of a job; nil where it can.
func obstacleTo(host *pluginhost.Host, plugin string, point hook.Point) *obstacle {
	p, err := host.Plugin(job.PluginDialect + ":" + plugin)
	switch {
	case err != nil: // not found: the name is whole, so it is not ambiguous
		return &obstacle{pluginhost.SeverityError, &job.NoPluginError{Plugin: plugin},
			"put dotagent-plugin-" + plugin + " into a directory that is searched (patchbay plugin list shows them)"}
	case p.State == dialect.Unsupported:
		return &obstacle{pluginhost.SeverityWarning, fmt.Errorf("plugin %s is not for this system", plugin), ""}
	case p.State != dialect.Ready:
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is %s: %s", plugin, p.State, text(p.Error)),
			"`patchbay plugin info " + job.PluginDialect + ":" + plugin + "` says what is wrong with it"}
	case !slices.ContainsFunc(p.Wiring, func(w pluginhost.Wire) bool { return w.Point == point }):
		return &obstacle{pluginhost.SeverityError, fmt.Errorf("plugin %s is no %s plugin, but %s", plugin, jobKinds[point], strings.Join(p.Kinds, ", ")),
			"name it in " + lists(p.Kinds) + ", or another plugin here"}
	}
	return nil
}
