package daemon

import (
	"strconv"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/metrics"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// counts are the metrics for Prometheus. No label contains a text of a user: labels are names of
// plugins, dialects and points, and outcomes, and there are few of each.
type counts struct {
	all metrics.Registry // serves /metrics

	turns   *metrics.Counter
	tools   *metrics.Counter
	tokens  *metrics.Counter
	seconds *metrics.Histogram
}

func newCounts(c *Core) *counts {
	n := new(counts)
	n.all.Runtime()
	n.all.Process()
	n.turns = n.all.Counter("patchbay_turns_total", "Turns of the agent, by how they ended.", "status")
	n.tools = n.all.Counter("patchbay_tool_calls_total", "Tool calls of the agent.", "resolved", "success")
	n.tokens = n.all.Counter("patchbay_model_tokens_total", "Tokens sent to and received from the model.", "direction")
	n.seconds = n.all.Histogram("patchbay_plugin_call_seconds", "How long plugins took at the points of the agent's turns.",
		[]float64{0.0001, 0.001, 0.01, 0.1, 1, 10}, "plugin", "point")
	n.observe(c)
	return n
}

// observe adds the metrics that are read from the host when Prometheus asks.
func (n *counts) observe(c *Core) {
	perPlugin := func(name, help string, read func(pluginhost.PluginCount) float64) {
		n.all.Observe(metrics.Counted, name, help, []string{"dialect", "plugin"}, func(show metrics.Show) {
			for _, p := range c.Host.Counters() {
				show(read(p), p.Dialect, p.Plugin)
			}
		})
	}
	perPlugin("patchbay_plugin_calls_total", "Calls to plugins.", func(p pluginhost.PluginCount) float64 { return float64(p.Calls) })
	perPlugin("patchbay_plugin_errors_total", "Calls to plugins that failed, including timeouts.", func(p pluginhost.PluginCount) float64 { return float64(p.Errors) })
	perPlugin("patchbay_plugin_restarts_total", "Plugins that died and were started again.", func(p pluginhost.PluginCount) float64 { return float64(p.Restarts) })
	n.all.Observe(metrics.Measured, "patchbay_plugins", "Plugins, by dialect and state.", []string{"dialect", "state"}, func(show metrics.Show) {
		for _, p := range c.Host.Plugins() {
			show(1, p.Dialect, string(p.State))
		}
	})
	n.all.Observe(metrics.Counted, "patchbay_events_dropped_total", "Events that the journal could not store.", nil,
		func(show metrics.Show) { show(float64(c.Journal.Dropped())) })
	n.all.Observe(metrics.Counted, "patchbay_telemetry_spans_total", "Spans for the OpenTelemetry collector, by result.", []string{"result"},
		func(show metrics.Show) {
			if e := c.exported(); e != nil {
				show(float64(e.Sent), "sent")
				show(float64(e.Dropped), "dropped")
			}
		})
}

// count counts an event of a turn.
func (n *counts) count(e *chat.Event) {
	switch e.Type {
	case chat.Point:
		for i := range e.Outcome.Steps {
			s := &e.Outcome.Steps[i]
			n.seconds.Observe(s.Duration.Seconds(), s.Plugin, string(e.Outcome.Point))
		}
	case chat.ToolFinished:
		n.tools.Add(1, strconv.FormatBool(e.Tool.ResolvedBy != nil), strconv.FormatBool(e.Tool.Success))
	case chat.TurnFinished:
		n.turns.Add(1, string(e.Result.Status))
		n.tokens.Add(float64(e.Result.Usage.Input), "input")
		n.tokens.Add(float64(e.Result.Usage.Output), "output")
	}
}
