package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// inspect tells how things stand.
type inspect struct{ *Core }

func (i inspect) Plugins(context.Context) (any, error) { return i.Host.Plugins(), nil }

// Plugin is `plugin info`: a plugin that is asked for its health only when somebody wants to know it is asked now.
func (i inspect) Plugin(ctx context.Context, name string) (any, error) {
	if err := i.Host.CheckHealth(ctx, name); err != nil && !errors.Is(err, pluginhost.ErrNotFound) {
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

// A Diagnosis is what `doctor --json` prints.
type Diagnosis struct {
	OK       bool                 `json:"ok"`
	Findings []pluginhost.Finding `json:"findings"`
}

func (i inspect) Doctor(ctx context.Context) (any, error) {
	jobs := i.Jobs.Examine(ctx) // first: it looks for plugins again
	if err := ctx.Err(); err != nil {
		return nil, err // what was found is not the agents' fault
	}
	if err := i.Host.CheckHealth(ctx); err != nil {
		return nil, err
	}
	d := Diagnosis{OK: true, Findings: []pluginhost.Finding{}} // a list, also where it is empty
	d.Findings = append(d.Findings, slices.Concat(i.faults.list(), i.projects.findings(), jobs,
		HookFindings(i.Dirs.Home, i.Host.Project(), dialect.Env{Vars: i.options.Host.Environ}.Get), engineFindings(i.Engine))...)
	for _, f := range d.Findings {
		d.OK = d.OK && f.Severity != pluginhost.SeverityError
	}
	return d, nil
}

// A tracePage is a page of traces.
type tracePage struct {
	Traces []json.RawMessage `json:"traces"`
	Next   string            `json:"next,omitempty"`
}

// Traces are events that went through plugins, the newest first. Their place is the sequence number.
func (i inspect) Traces(ctx context.Context, f httpapi.TraceFilter) (any, error) {
	before, err := traceBefore(f.After)
	if err != nil {
		return nil, err
	}
	filter := journal.Filter{Session: f.Session, Turn: f.Turn, Kinds: []string{string(chat.Point)}}
	events, err := i.Journal.Newest(ctx, before, filter, f.Limit+1) // one more tells whether there is a next page
	if err != nil {
		return nil, err
	}
	page := tracePage{Traces: []json.RawMessage{}}
	if len(events) > f.Limit {
		events = events[:f.Limit]
		page.Next = httpapi.Cursor(traceList, strconv.FormatUint(events[f.Limit-1].Sequence, 10))
	}
	for _, e := range events {
		page.Traces = append(page.Traces, e.Data)
	}
	return page, nil
}

const traceList = "traces"

// traceBefore is the sequence number in a cursor, 0 for none.
func traceBefore(cursor string) (uint64, error) {
	text, err := httpapi.Place(traceList, cursor)
	if err != nil || text == "" {
		return 0, err
	}
	before, err := strconv.ParseUint(text, 10, 64)
	if err != nil || before == 0 {
		return 0, httpapi.BadCursor(traceList, cursor)
	}
	return before, nil
}
