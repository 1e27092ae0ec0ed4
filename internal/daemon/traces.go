package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Records are the stored sessions and events.
type Records struct {
	Sessions *sessionstore.Store
	Journal  *journal.Journal
}

// OpenRecords opens sessions and journal without plugins and model. The engine may be shared with a
// running daemon.
func OpenRecords(ctx context.Context, o Options) (*Records, func() error, error) {
	c := &Core{log: cmp.Or(o.Host.Logger, slog.New(slog.DiscardHandler))}
	if _, err := c.configure(&o); err != nil {
		return nil, nil, err
	}
	if err := c.openEngine(ctx); err != nil {
		return nil, nil, errors.Join(err, c.closeEngine())
	}
	return &Records{c.Sessions, c.Journal}, c.closeEngine, nil
}

// Remove deletes a session that is not in use, as [sessionstore.Store.Remove] does, and its events.
func (r *Records) Remove(ctx context.Context, id string) error {
	if err := r.Sessions.Remove(ctx, id); err != nil {
		return err
	}
	event := hook.Object{{Name: "id", Value: rawjson.String(id)}}
	r.Journal.Post("session.deleted", "", event.JSON()) // not with core.post: there may be no host, and an id has no secrets
	return r.Journal.Forget(ctx, id)
}

// A TraceQuery selects traces. The zero value selects all.
type TraceQuery struct {
	Session string
	Turn    string
	Point   hook.Point
	Plugin  string    // a plugin that was asked
	Failed  bool      // a plugin failed
	Since   time.Time // zero: of any age

	Also func(*KeptTrace) bool // a further condition; nil: none
}

func (q *TraceQuery) wants(t *KeptTrace) bool {
	if q.Point != "" && t.Outcome.Point != q.Point {
		return false
	}
	asked := q.Plugin == "" || slices.ContainsFunc(t.Outcome.Steps, func(s hook.Step) bool { return s.Plugin == q.Plugin })
	return asked && (!q.Failed || t.Failed()) && (q.Also == nil || q.Also(t))
}

func (q *TraceQuery) filter() journal.Filter {
	return journal.Filter{Session: q.Session, Turn: q.Turn, Kinds: []string{string(chat.Point)}}
}

// A KeptTrace is a trace in the journal.
type KeptTrace struct {
	ID      uint64      `json:"id"` // its sequence number in the journal
	Session string      `json:"session_id"`
	Turn    string      `json:"turn"`
	Time    time.Time   `json:"time"` // when the event ended
	Outcome *hook.Trace `json:"outcome"`
}

// Failed reports whether a plugin failed.
func (t *KeptTrace) Failed() bool {
	return slices.ContainsFunc(t.Outcome.Steps, func(s hook.Step) bool { return s.Err != nil })
}

// Began returns when the first plugin was asked.
func (t *KeptTrace) Began() time.Time { return t.Time.Add(-t.Took()) }

// Took returns how long all plugins took together.
func (t *KeptTrace) Took() time.Duration { return t.Outcome.Took() }

// readTrace decodes an event of the journal.
func readTrace(e *journal.Event) (KeptTrace, error) {
	t := KeptTrace{}
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return t, fmt.Errorf("trace %d: %w", e.Sequence, err)
	}
	if t.Outcome == nil || t.Outcome.Outcome == nil {
		return t, fmt.Errorf("trace %d: no outcome", e.Sequence)
	}
	t.ID = e.Sequence
	if t.Time.IsZero() {
		t.Time = e.Time
	}
	return t, nil
}

// A TraceList is a page of traces, the newest first.
type TraceList struct {
	Traces []KeptTrace
	Next   string // the cursor of the next page; "": this is the last
}

// tracesAtOnce is how many traces are read at a time if only a few of many are wanted.
const tracesAtOnce = 200

// ListTraces returns a page of the traces that match a query. It returns an
// [*httpapi.InvalidRequestError] if the cursor does not belong to this list.
func ListTraces(ctx context.Context, j *journal.Journal, q TraceQuery, p httpapi.Page) (TraceList, error) {
	before, err := traceBefore(p.After)
	if err != nil {
		return TraceList{}, err
	}
	list := TraceList{Traces: []KeptTrace{}}
	err = eachTrace(ctx, j, &q, before, func(t *KeptTrace) bool {
		if len(list.Traces) == p.Limit { // one more trace shows that there is a next page
			list.Next = httpapi.Cursor(traceList, strconv.FormatUint(list.Traces[p.Limit-1].ID, 10))
			return false
		}
		list.Traces = append(list.Traces, *t)
		return true
	})
	return list, err
}

// eachTrace calls f with the traces before a sequence number that match the query, the newest
// first, until f returns false. It skips traces that cannot be read.
func eachTrace(ctx context.Context, j *journal.Journal, q *TraceQuery, before uint64, f func(*KeptTrace) bool) error {
	for {
		events, err := j.Newest(ctx, before, q.filter(), tracesAtOnce)
		if err != nil {
			return err
		}
		for i := range events {
			before = events[i].Sequence
			if events[i].Time.Before(q.Since) {
				return nil
			}
			t, err := readTrace(&events[i])
			if err == nil && q.wants(&t) && !f(&t) {
				return nil
			}
		}
		if len(events) < tracesAtOnce {
			return nil
		}
	}
}

// AllTraces returns the newest traces that match a query, at most this many, the oldest first.
func AllTraces(ctx context.Context, j *journal.Journal, q TraceQuery, most int) ([]KeptTrace, error) {
	var all []KeptTrace
	err := eachTrace(ctx, j, &q, 0, func(t *KeptTrace) bool {
		all = append(all, *t)
		return len(all) < most
	})
	slices.Reverse(all)
	return all, err
}

// ErrNoTrace reports that the journal has no such trace.
var ErrNoTrace = errors.New("there is no such trace")

// FindTrace returns the trace with a sequence number of the journal.
func FindTrace(ctx context.Context, j *journal.Journal, id uint64) (KeptTrace, error) {
	events, err := j.Newest(ctx, id+1, journal.Filter{Kinds: []string{string(chat.Point)}}, 1)
	if err != nil {
		return KeptTrace{}, err
	}
	if len(events) == 0 || events[0].Sequence != id {
		return KeptTrace{}, fmt.Errorf("%w: %d", ErrNoTrace, id)
	}
	return readTrace(&events[0])
}
