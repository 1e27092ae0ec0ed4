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
	LastEventID string `header:"Last-Event-ID" pattern:"^[0-9]{1,20}$" doc:"Begin after this event. Browsers send it when they reconnect; it goes before the parameter."`
	After       string `query:"after" pattern:"^[0-9]{1,20}$" doc:"Begin after this event; 0: with the oldest that there is. Without it: with the next one."`
	Session     string `query:"session" maxLength:"256" doc:"Events of this session alone."`
}

// A gap says that events which a client asked for are not there: they are too
// old, or of another store. It goes on with the oldest, or with the next.
type gap struct {
	After uint64 `json:"after"` // what it asked for
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// A place is where a stream begins.
type place struct {
	filter EventFilter
	gap    *gap // nil: none
}

func (a *api) addEvents() {
	add(a, route{method: "GET", path: "/v1/events", id: "events", tag: "inspect", summary: "Follow all that happens", events: true,
		errors: []int{422, 503},
		doc: "Server-sent events. Ids are those of the engine and grow; a client that comes back with `Last-Event-ID` misses nothing. " +
			"Where events it asked for are gone, the first event is `gap`. A comment comes every 15 seconds. " +
			"A client that does not read is dropped."}, a.events)
}

func (a *api) events(ctx context.Context, in *follow) (*huma.StreamResponse, error) {
	from, err := a.place(ctx, in)
	if err != nil {
		return nil, err
	}
	return streamed(func(w http.ResponseWriter, r *http.Request) { a.streamEvents(w, r, from) }), nil
}

// place finds out where to begin.
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
		return place{filter: EventFilter{After: last, Session: in.Session}}, nil
	}
	after, err := strconv.ParseUint(asked, 10, 64)
	if err != nil {
		return place{}, &problem{http.StatusUnprocessableEntity, fmt.Sprintf("Not an event id: %s", quote(asked))}
	}
	p := place{filter: EventFilter{After: min(after, last), Session: in.Session}}
	if after > last || after > 0 && after+1 < first {
		p.gap = &gap{After: after, First: first, Last: last}
	}
	return p, nil
}

// streamEvents sends events until the client, or the daemon, has had enough.
func (a *api) streamEvents(w http.ResponseWriter, r *http.Request, from place) {
	leave, ok := a.enter(w)
	if !ok {
		return
	}
	defer leave()
	s, ctx := a.open(w, r)
	defer a.closed(s)
	if err := s.begin(from.gap); err != nil {
		return
	}
	err := a.Events.Follow(ctx, from.filter, s.send)
	if err != nil && ctx.Err() == nil { // neither the client's doing nor the daemon's
		s.fail(a.problem(err, "stream of events"))
	}
}

// begin lets the client know that it is connected, and how long to wait before it comes back.
func (s *stream) begin(g *gap) error {
	if err := s.write([]byte("retry: 2000\n\n")); err != nil || g == nil {
		return err
	}
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return s.send(Event{Kind: "gap", Data: text})
}
