package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

type follow struct {
	LastEventID string `header:"Last-Event-ID" pattern:"^[0-9]{1,20}$" doc:"Begin after this event. Browsers send it when they reconnect. It overrides the parameter after."`
	After       string `query:"after" pattern:"^[0-9]{1,20}$" doc:"Begin after this event; 0: with the oldest one. Without it: with the next new one."`
	Session     string `query:"session" maxLength:"256" doc:"Only events of this session."`
}

// A gap says that events that a client asked for do not exist: they are too old, or belong to
// another store. In the first case the stream continues with the oldest event, in the second with
// the next new one.
type gap struct {
	After uint64 `json:"after"` // the id that the client asked for
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// A place is where a stream begins.
type place struct {
	filter EventFilter
	gap    *gap   // nil: none
	seen   uint64 // no gap is reported for events up to this id
}

func (a *api) addEvents() {
	add(a, route{method: "GET", path: "/v1/events", id: "events", tag: "inspect", summary: "Follow everything that happens", events: true,
		errors: []int{422, 503},
		doc: "Server-sent events. The ids are those of the engine and grow. A client that reconnects with `Last-Event-ID` misses nothing. " +
			"If events are deleted before they could be sent, an event `gap` comes before the next one. A comment comes every 15 seconds. " +
			"A client that does not read is disconnected."}, a.events)
}

func (a *api) events(ctx context.Context, in *follow) (*huma.StreamResponse, error) {
	from, err := a.place(ctx, in)
	if err != nil {
		return nil, err
	}
	return streamed(func(w http.ResponseWriter, r *http.Request) { a.streamEvents(w, r, from) }), nil
}

// place finds where a stream begins.
func (a *api) place(ctx context.Context, in *follow) (place, error) {
	first, last, err := a.Events.Range(ctx)
	if err != nil {
		return place{}, err
	}
	asked := in.LastEventID
	if asked == "" {
		asked = in.After
	}
	if asked == "" {
		return place{filter: EventFilter{After: last, Session: in.Session}, seen: last}, nil
	}
	after, err := strconv.ParseUint(asked, 10, 64)
	if err != nil {
		return place{}, &problem{http.StatusUnprocessableEntity, fmt.Sprintf("Not an event id: %s", quote(asked))}
	}
	p := place{filter: EventFilter{After: min(after, last), Session: in.Session}}
	p.seen = max(p.filter.After, first-min(first, 1))
	if after > last || after > 0 && after+1 < first {
		p.gap = &gap{After: after, First: first, Last: last}
	}
	return p, nil
}

// streamEvents sends events until the client leaves or the daemon ends.
func (a *api) streamEvents(w http.ResponseWriter, r *http.Request, from place) {
	leave, ok := a.enter(w)
	if !ok {
		return
	}
	defer leave()
	var begun error
	s, ctx := a.open(w, r, func(s *stream) { begun = s.begin(from.gap) })
	defer a.closed(s)
	if begun != nil {
		return
	}
	err := a.Events.Follow(ctx, from.filter, a.eventSender(ctx, s, from))
	if err != nil && ctx.Err() == nil { // neither the client nor the daemon ended the stream
		s.fail(a.problem(err, "stream of events"))
	}
}

// begin tells the client that it is connected, and how long to wait before it reconnects.
func (s *stream) begin(g *gap) error {
	if err := s.write([]byte("retry: 2000\n\n")); err != nil || g == nil {
		return err
	}
	return s.sendGap(g)
}

func (s *stream) sendGap(g *gap) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return s.send(Event{Kind: "gap", Data: text})
}

// eventSender returns a function that sends events. It also sends a gap if events were deleted
// before they could be sent, because the client was slow or the engine not available. Ids also have
// holes if sessions were deleted, and the ids of one session always have holes: these are not gaps.
func (a *api) eventSender(ctx context.Context, s *stream, from place) func(Event) error {
	seen := from.seen
	return func(e Event) error {
		if from.filter.Session == "" && e.ID > seen+1 {
			if err := a.sendGapIfDeleted(ctx, s, seen); err != nil {
				return err
			}
		}
		seen = max(seen, e.ID)
		return s.send(e)
	}
}

// sendGapIfDeleted sends a gap if events after seen have been deleted.
func (a *api) sendGapIfDeleted(ctx context.Context, s *stream, seen uint64) error {
	first, last, err := a.Events.Range(ctx)
	if err != nil || seen+1 >= first {
		return err
	}
	return s.sendGap(&gap{After: seen, First: first, Last: last})
}
