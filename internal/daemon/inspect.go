package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/journal"
)

// inspect tells how things stand.
type inspect struct{ *Core }

func (i inspect) Plugins(context.Context) (any, error) { return i.Host.Plugins(), nil }

// Plugin is `plugin info`: a plugin that is asked for its health only when somebody wants to know it is asked now.
func (i inspect) Plugin(ctx context.Context, name string) (any, error) {
	if err := i.Host.CheckHealth(ctx, name); err != nil && !errors.Is(err, patchbay.ErrNotFound) {
		return nil, err
	}
	detail, err := i.Host.Plugin(name)
	if errors.Is(err, patchbay.ErrNotFound) {
		return nil, httpapi.ErrNoPlugin
	}
	return detail, err
}

func (i inspect) Tools(context.Context) (any, error) { return i.Host.Tools(), nil }

// A Diagnosis is what `doctor --json` prints.
type Diagnosis struct {
	OK       bool               `json:"ok"`
	Findings []patchbay.Finding `json:"findings"`
}

func (i inspect) Doctor(ctx context.Context) (any, error) {
	if err := i.Host.CheckHealth(ctx); err != nil {
		return nil, err
	}
	jobs := i.Jobs.Examine(ctx) // first: it looks for plugins again
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := Diagnosis{OK: true, Findings: slices.Concat(i.projects.findings(), jobs, engineFindings(i.Engine))}
	for _, f := range d.Findings {
		d.OK = d.OK && f.Severity != patchbay.SeverityError
	}
	return d, nil
}

// Traces are events that went through plugins, the newest first.
func (i inspect) Traces(ctx context.Context, f httpapi.TraceFilter) (any, error) {
	events, err := i.Journal.Newest(ctx, 0, journal.Filter{Session: f.Session, Turn: f.Turn, Kinds: []string{string(chat.Point)}}, f.Limit)
	if err != nil {
		return nil, err
	}
	traces := make([]json.RawMessage, len(events))
	for k, e := range events {
		traces[k] = e.Data
	}
	return traces, nil
}
