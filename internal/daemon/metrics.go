package daemon

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// metrics count what happens, for Prometheus to read. No label has what a user wrote: names of plugins, dialects and
// points, and outcomes, all of them few.
type metrics struct {
	provider *sdk.MeterProvider
	handler  http.Handler

	turns   metric.Int64Counter
	tools   metric.Int64Counter
	tokens  metric.Int64Counter
	seconds metric.Float64Histogram
}

func newMetrics(c *Core) (*metrics, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m := &metrics{provider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
	if err := m.define(m.provider.Meter("patchbay"), c); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return m, nil
}

// define makes the instruments. The first error ends it; the exporter adds _total and _seconds.
func (m *metrics) define(meter metric.Meter, c *Core) (err error) {
	if m.turns, err = meter.Int64Counter("patchbay_turns", metric.WithDescription("Turns of the agent, by how they ended.")); err != nil {
		return err
	}
	if m.tools, err = meter.Int64Counter("patchbay_tool_calls", metric.WithDescription("Tool calls of the agent.")); err != nil {
		return err
	}
	if m.tokens, err = meter.Int64Counter("patchbay_model_tokens", metric.WithDescription("Tokens sent to and received from the model.")); err != nil {
		return err
	}
	if m.seconds, err = meter.Float64Histogram("patchbay_plugin_call", metric.WithUnit("s"),
		metric.WithDescription("How long plugins took at the points of the agent's turns."),
		metric.WithExplicitBucketBoundaries(0.0001, 0.001, 0.01, 0.1, 1, 10)); err != nil {
		return err
	}
	return m.observe(meter, c)
}

// observe defines what is read off the host when Prometheus asks.
func (m *metrics) observe(meter metric.Meter, c *Core) error {
	calls, err := meter.Int64ObservableCounter("patchbay_plugin_calls", metric.WithDescription("Calls to plugins."))
	if err != nil {
		return err
	}
	failures, err := meter.Int64ObservableCounter("patchbay_plugin_errors", metric.WithDescription("Calls to plugins that failed, time-outs included."))
	if err != nil {
		return err
	}
	restarts, err := meter.Int64ObservableCounter("patchbay_plugin_restarts", metric.WithDescription("Plugins that died and were started again."))
	if err != nil {
		return err
	}
	plugins, err := meter.Int64ObservableGauge("patchbay_plugins", metric.WithDescription("Plugins, by dialect and state."))
	if err != nil {
		return err
	}
	dropped, err := meter.Int64ObservableCounter("patchbay_events_dropped", metric.WithDescription("Events that the journal could not keep."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(dropped, int64(c.Journal.Dropped()))
		for _, n := range c.Host.Counters() {
			who := metric.WithAttributes(attribute.String("plugin", n.Plugin), attribute.String("dialect", n.Dialect))
			o.ObserveInt64(calls, n.Calls, who)
			o.ObserveInt64(failures, n.Errors, who)
			o.ObserveInt64(restarts, int64(n.Restarts), who)
		}
		for state, n := range census(c.Host.Plugins()) {
			o.ObserveInt64(plugins, n, metric.WithAttributes(attribute.String("dialect", state.dialect), attribute.String("state", state.state)))
		}
		return nil
	}, calls, failures, restarts, plugins, dropped)
	return err
}

type kindOfPlugin struct{ dialect, state string }

// census counts plugins by dialect and state.
func census(list []pluginhost.PluginInfo) map[kindOfPlugin]int64 {
	counts := make(map[kindOfPlugin]int64)
	for _, p := range list {
		counts[kindOfPlugin{p.Dialect, string(p.State)}]++
	}
	return counts
}

// event counts what an event of a turn says.
func (m *metrics) event(e *chat.Event) {
	ctx := context.Background() // counting is not to be interrupted
	switch e.Type {
	case chat.Point:
		for i := range e.Outcome.Steps {
			s := &e.Outcome.Steps[i]
			m.seconds.Record(ctx, s.Duration.Seconds(), metric.WithAttributes(
				attribute.String("plugin", s.Plugin), attribute.String("point", string(e.Outcome.Point))))
		}
	case chat.ToolFinished:
		m.tools.Add(ctx, 1, metric.WithAttributes(attribute.Bool("success", e.Tool.Success), attribute.Bool("resolved", e.Tool.ResolvedBy != nil)))
	case chat.TurnFinished:
		m.turns.Add(ctx, 1, metric.WithAttributes(attribute.String("status", string(e.Result.Status))))
		m.tokens.Add(ctx, int64(e.Result.Usage.Input), metric.WithAttributes(attribute.String("direction", "input")))
		m.tokens.Add(ctx, int64(e.Result.Usage.Output), metric.WithAttributes(attribute.String("direction", "output")))
	}
}

func (m *metrics) close() error { return m.provider.Shutdown(context.Background()) }
