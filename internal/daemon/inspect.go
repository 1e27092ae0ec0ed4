package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// inspect implements [httpapi.Inspect]: it reports the state of the core.
type inspect struct{ *Core }

func (i inspect) Plugins(context.Context) (any, error) { return i.Host.Plugins(), nil }

// Plugin returns the facts of `plugin info`. It first asks for the health of a plugin that reports
// it only on request.
func (i inspect) Plugin(ctx context.Context, name string) (any, error) {
	err := i.Host.CheckHealth(ctx, name)
	if errors.Is(err, pluginhost.ErrAmbiguous) {
		return nil, &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	if err != nil && !errors.Is(err, pluginhost.ErrNotFound) {
		return nil, err
	}
	detail, err := i.Host.Plugin(name)
	if errors.Is(err, pluginhost.ErrNotFound) {
		return nil, httpapi.ErrNoPlugin
	}
	return detail, err
}

func (i inspect) Latencies(context.Context) (httpapi.Latencies, error) {
	return httpapi.Latencies{Plugins: i.Host.Latencies()}, nil
}

func (i inspect) Tools(context.Context) (any, error) { return i.Host.Tools(), nil }

// A Diagnosis is the output of `doctor --json`.
type Diagnosis struct {
	OK       bool                 `json:"ok" doc:"Whether there is no error among them." example:"false"`
	Findings []pluginhost.Finding `json:"findings" doc:"The most general first."`
}

func (i inspect) Doctor(ctx context.Context) (any, error) {
	jobs := i.Jobs.Examine(ctx) // first, because it searches for plugins again
	if err := ctx.Err(); err != nil {
		return nil, err // findings of an interrupted check are wrong
	}
	if err := i.Host.CheckHealth(ctx); err != nil {
		return nil, err
	}
	d := Diagnosis{OK: true, Findings: []pluginhost.Finding{}} // encoded as a list also if it is empty
	d.Findings = append(d.Findings, slices.Concat(i.faults.list(), i.projects.findings(), jobs,
		HookFindings(i.Dirs.Home, i.Host.Project(), dialect.Env{Vars: i.options.Load().Host.Environ}.Get), engineFindings(i.Engine))...)
	for _, f := range d.Findings {
		d.OK = d.OK && f.Severity != pluginhost.SeverityError
	}
	return d, nil
}
