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

// Traces returns a page of the events that were sent to plugins, the newest first.
func (i inspect) Traces(ctx context.Context, f httpapi.TraceFilter) (httpapi.TracePage, error) {
	hosts := i.hostNames()
	q := TraceQuery{Session: f.Session, Turn: f.Turn, Point: hook.Point(f.Point), Plugin: f.Plugin, Failed: f.Failed}
	if f.Host != "" {
		q.Also = func(t *KeptTrace) bool { return hosts.of(ctx, t.Session) == f.Host }
	}
	list, err := ListTraces(ctx, i.Journal, q, f.Page)
	if err != nil {
		return httpapi.TracePage{}, err
	}
	page := httpapi.TracePage{Traces: make([]httpapi.TraceView, 0, len(list.Traces)), Next: list.Next}
	for n := range list.Traces {
		view, err := viewTrace(&list.Traces[n], f.Brief)
		if err != nil {
			return page, err
		}
		view.Host = hosts.of(ctx, view.Session)
		page.Traces = append(page.Traces, view)
	}
	return page, nil
}

// Trace returns one trace.
func (i inspect) Trace(ctx context.Context, id uint64) (httpapi.TraceView, error) {
	t, err := FindTrace(ctx, i.Journal, id)
	if errors.Is(err, ErrNoTrace) {
		return httpapi.TraceView{}, httpapi.ErrNoTrace
	}
	if err != nil {
		return httpapi.TraceView{}, err
	}
	view, err := viewTrace(&t, false)
	view.Host = i.hostNames().of(ctx, t.Session)
	return view, err
}

// viewTrace returns a trace in the form for clients. A brief one is without payloads, and without
// what plugins were sent and answered.
func viewTrace(t *KeptTrace, brief bool) (httpapi.TraceView, error) {
	v := httpapi.TraceView{ID: t.ID, Type: string(chat.Point), Session: t.Session, Turn: t.Turn, Time: t.Time, Began: t.Began(), TookUS: t.Took().Microseconds(), Failed: t.Failed()}
	var err error
	if !brief {
		v.Outcome, err = viewOutcome(t.Outcome)
		return v, err
	}
	short := *t.Outcome.Outcome
	short.Payload = nil
	v.Outcome, err = viewOutcome(&short)
	for n := range v.Outcome.Steps { // viewOutcome sets start times only for a trace
		v.Outcome.Steps[n].StartUS = new(t.Outcome.Steps[n].Started.Sub(t.Outcome.Began()).Microseconds())
	}
	return v, err
}

// viewOutcome returns an outcome, or a trace, in the form for clients.
func viewOutcome(o json.Marshaler) (v httpapi.Outcome, err error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return v, err
	}
	err = json.Unmarshal(text, &v)
	return v, err
}

// viewStep returns a step in the form for clients, with all details.
func viewStep(s *hook.Step) (httpapi.Step, error) {
	alone := hook.Outcome{Steps: []hook.Step{*s}}
	view, err := viewOutcome(alone.Trace())
	if err != nil {
		return httpapi.Step{}, err
	}
	return view.Steps[0], nil
}

const traceList = "traces"

// traceBefore returns the sequence number in a cursor, or 0 if there is no cursor.
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

// hostNames returns the origins of sessions, and reads each session once.
type hostNames struct {
	sessions interface {
		Get(ctx context.Context, id string) (session.Session, error)
	}
	known map[string]string
}

func (i inspect) hostNames() *hostNames {
	return &hostNames{i.Sessions, make(map[string]string)}
}

// of returns the origin of a session, or "" if it is not known.
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
	mostTitle    = 120 // bytes of a turn's title
	mostTurnRead = 500 // traces of a turn that are counted
)

// Turns returns the turns whose events were sent to plugins, the turn with the newest event first.
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
			return true // it was on an earlier page
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

// turn summarizes a turn. The sequence number of its newest trace is its place in the list.
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

// messageOf returns the beginning of the user's message, as plugins changed it.
func messageOf(payload json.RawMessage) string {
	var input struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(payload, &input) != nil {
		return "" // the payload was too long to be stored
	}
	return excerpt.Of(input.Message, mostTitle)
}
