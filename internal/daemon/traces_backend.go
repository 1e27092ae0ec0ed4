package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A tracePage is a page of traces.
type tracePage struct {
	Traces []httpapi.TraceView `json:"traces"`
	Next   string              `json:"next,omitempty"`
}

// Traces are events that went through plugins, the newest first. Their place is the sequence
// number.
func (i inspect) Traces(ctx context.Context, f httpapi.TraceFilter) (any, error) {
	hosts := i.hostNames()
	q := TraceQuery{Session: f.Session, Turn: f.Turn, Point: hook.Point(f.Point), Plugin: f.Plugin, Failed: f.Failed}
	if f.Host != "" {
		q.Also = func(t *KeptTrace) bool { return hosts.of(ctx, t.Session) == f.Host }
	}
	list, err := ListTraces(ctx, i.Journal, q, f.Page)
	if err != nil {
		return nil, err
	}
	page := tracePage{Traces: make([]httpapi.TraceView, 0, len(list.Traces)), Next: list.Next}
	for n := range list.Traces {
		view, err := viewTrace(&list.Traces[n], f.Brief)
		if err != nil {
			return nil, err
		}
		view.Host = hosts.of(ctx, view.Session)
		page.Traces = append(page.Traces, view)
	}
	return page, nil
}

// Trace is one of them.
func (i inspect) Trace(ctx context.Context, id uint64) (any, error) {
	t, err := FindTrace(ctx, i.Journal, id)
	if errors.Is(err, ErrNoTrace) {
		return nil, httpapi.ErrNoTrace
	}
	if err != nil {
		return nil, err
	}
	view, err := viewTrace(&t, false)
	view.Host = i.hostNames().of(ctx, t.Session)
	return view, err
}

// viewTrace is a trace as clients see it; a brief one is without what plugins were sent and
// answered.
func viewTrace(t *KeptTrace, brief bool) (httpapi.TraceView, error) {
	v := httpapi.TraceView{ID: t.ID, Type: string(chat.Point), Session: t.Session, Turn: t.Turn, Time: t.Time, Began: t.Began(), TookUS: t.Took().Microseconds(), Failed: t.Failed()}
	var text []byte
	var err error
	if brief {
		short := *t.Outcome.Outcome
		short.Payload = nil
		text, err = json.Marshal(&short)
	} else {
		text, err = json.Marshal(t.Outcome)
	}
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v.Outcome); err != nil {
		return v, err
	}
	for n := range v.Outcome.Steps {
		v.Outcome.Steps[n].StartUS = t.Outcome.Steps[n].Started.Sub(t.Outcome.Steps[0].Started).Microseconds()
	}
	return v, nil
}

// viewStep is a step as clients see it, with all that a trace tells.
func viewStep(s *hook.Step) (httpapi.Step, error) {
	alone := hook.Outcome{Steps: []hook.Step{*s}}
	text, err := json.Marshal(alone.Trace())
	if err != nil {
		return httpapi.Step{}, err
	}
	var view httpapi.Outcome
	if err := json.Unmarshal(text, &view); err != nil {
		return httpapi.Step{}, err
	}
	return view.Steps[0], nil
}

const traceList = "traces"

// traceBefore is the sequence number in a cursor, 0 for none.
func traceBefore(cursor string) (uint64, error) { return placeBefore(traceList, cursor) }

func placeBefore(list, cursor string) (uint64, error) {
	text, err := httpapi.Place(list, cursor)
	if err != nil || text == "" {
		return 0, err
	}
	before, err := strconv.ParseUint(text, 10, 64)
	if err != nil || before == 0 {
		return 0, httpapi.BadCursor(list, cursor)
	}
	return before, nil
}

// hostNames know where sessions came from, each asked for once.
type hostNames struct {
	sessions interface {
		Get(ctx context.Context, id string) (session.Session, error)
	}
	known map[string]string
}

func (i inspect) hostNames() *hostNames {
	return &hostNames{i.Sessions, make(map[string]string)}
}

// of is the host of a session; "" where it is not known.
func (h *hostNames) of(ctx context.Context, id string) string {
	host, ok := h.known[id]
	if !ok && id != "" {
		if one, err := h.sessions.Get(ctx, id); err == nil {
			host = one.Origin()
		}
		h.known[id] = host
	}
	return host
}

const (
	turnList     = "turns"
	mostTitle    = 120 // bytes of what a turn is shown as
	mostTurnRead = 500 // traces of a turn that are counted
)

// Turns are the turns whose events went through plugins, the last to have one first.
func (i inspect) Turns(ctx context.Context, f httpapi.TurnFilter) (httpapi.TurnPage, error) {
	page := httpapi.TurnPage{Turns: []httpapi.TurnView{}}
	before, err := placeBefore(turnList, f.After)
	if err != nil {
		return page, err
	}
	hosts, seen := i.hostNames(), make(map[string]bool)
	var last uint64
	var failed error
	err = eachTrace(ctx, i.Journal, &TraceQuery{Session: f.Session}, before, func(t *KeptTrace) bool {
		key := t.Session + "\x00" + t.Turn
		if t.Turn == "" || seen[key] {
			return true
		}
		seen[key] = true
		view, newest, err := i.turn(ctx, t.Session, t.Turn)
		if err != nil {
			failed = err
			return false
		}
		if before != 0 && newest >= before {
			return true // it was on a page before this one
		}
		if len(page.Turns) == f.Limit {
			page.Next = httpapi.Cursor(turnList, strconv.FormatUint(last, 10))
			return false
		}
		view.Host, last = hosts.of(ctx, t.Session), newest
		page.Turns = append(page.Turns, view)
		return true
	})
	return page, cmp.Or(failed, err)
}

// turn sums a turn up. Its newest trace is its place in the list.
func (i inspect) turn(ctx context.Context, sessionID, turn string) (v httpapi.TurnView, newest uint64, err error) {
	traces, err := AllTraces(ctx, i.Journal, TraceQuery{Session: sessionID, Turn: turn}, mostTurnRead)
	if err != nil || len(traces) == 0 {
		return v, 0, err
	}
	v = httpapi.TurnView{Session: sessionID, Turn: turn, Began: traces[0].Began(), Events: len(traces)}
	ended := traces[0].Time
	for n := range traces {
		t := &traces[n]
		newest = max(newest, t.ID)
		if t.Failed() {
			v.Failures++
		}
		if t.Time.After(ended) {
			ended = t.Time
		}
		if t.Outcome.Point == hook.TurnInput && v.Title == "" {
			v.Title = messageOf(t.Outcome.Payload)
		}
	}
	v.TookUS = ended.Sub(v.Began).Round(time.Microsecond).Microseconds()
	return v, newest, nil
}

// messageOf is the beginning of the user's message, as plugins left it.
func messageOf(payload json.RawMessage) string {
	var input struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &input) != nil {
		return "" // the payload was too long to keep
	}
	return excerpt.Of(input.Message, mostTitle)
}
