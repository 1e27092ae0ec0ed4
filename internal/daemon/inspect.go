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
	jobs := i.Jobs.Examine(ctx) // first: it looks for plugins again
	if err := ctx.Err(); err != nil {
		return nil, err // what was found is not the agents' fault
	}
	if err := i.Host.CheckHealth(ctx); err != nil {
		return nil, err
	}
	d := Diagnosis{OK: true, Findings: []patchbay.Finding{}} // a list, also where it is empty
	d.Findings = append(d.Findings, slices.Concat(i.faults.list(), i.Host.Doctor(), jobs, engineFindings(i.Engine))...)
	for _, f := range d.Findings {
		d.OK = d.OK && f.Severity != patchbay.SeverityError
	}
	return d, nil
}

// Traces are events that went through plugins, the newest first.
func (i inspect) Traces(ctx context.Context, f httpapi.TraceFilter) (any, error) {
	events, err := i.Journal.Newest(ctx, journal.Filter{Session: f.Session, Kinds: []string{string(chat.Point)}}, f.Limit,
		func(e *journal.Event) bool { return f.Turn == "" || turnOf(e.Data) == f.Turn })
	if err != nil {
		return nil, err
	}
	traces := make([]json.RawMessage, len(events))
	for k, e := range events {
		traces[k] = e.Data
	}
	return traces, nil
}

func turnOf(event json.RawMessage) string {
	var e struct {
		Turn string `json:"turn"`
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return "" // not an event of ours: of no turn
	}
	return e.Turn
}
