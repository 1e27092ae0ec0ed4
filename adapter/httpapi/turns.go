package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

type message struct {
	ID     string `path:"id" maxLength:"256" doc:"The session's id."`
	Accept string `header:"Accept" hidden:"true"`
	Body   struct {
		Text string `json:"text" minLength:"1" doc:"The user's message." example:"what is this?"`
	}
}

type interrupted struct {
	Interrupted bool `json:"interrupted" doc:"Whether a turn was running." example:"true"`
}

func (a *api) addTurns() {
	const tag = "sessions"
	for _, p := range sessionPrefixes {
		add(a, route{method: "POST", path: p.path + "/{id}/message", id: p.id + "-message", tag: tag,
			summary: "Send a message to the agent", shape: a.Shapes.Turn, events: true, errors: []int{404, 409, 503},
			doc: "The turn belongs to this request: it is interrupted if the client disconnects. With `Accept: text/event-stream` " +
				"the events of the turn come as they happen, each with its type; the last is `result`, " +
				"with the same JSON as the answer without streaming, or `error`, with a detail."}, a.message)
		add(a, route{method: "POST", path: p.path + "/{id}/interrupt", id: p.id + "-interrupt", tag: tag,
			summary: "Interrupt the turn of a session", errors: []int{404}}, a.interrupt)
	}
}

func (a *api) interrupt(ctx context.Context, in *sessionID) (*answer[interrupted], error) {
	was, err := a.Turns.Interrupt(ctx, in.ID)
	return answered(interrupted{was}, err)
}

// message runs a turn and answers with its result, or streams it.
func (a *api) message(ctx context.Context, in *message) (*huma.StreamResponse, error) {
	if wantsEvents(in.Accept) {
		return streamed(func(w http.ResponseWriter, r *http.Request) { a.streamTurn(w, r, in) }), nil
	}
	result, err := a.Turns.Run(ctx, in.ID, in.Body.Text, nil)
	out, err := encoded(result, err)
	if err != nil {
		return nil, err
	}
	return atOnce(out.Body), nil
}

// streamTurn runs a turn in the context of its stream, so that a client that is gone interrupts it.
func (a *api) streamTurn(w http.ResponseWriter, r *http.Request, in *message) {
	s, ctx := a.open(w, r, nil)
	defer a.closed(s)
	result, err := a.Turns.Run(ctx, in.ID, in.Body.Text, func(kind string, event json.RawMessage) {
		_ = s.send(Event{Kind: kind, Data: event}) // an error has ended ctx, and so the turn
	})
	if err != nil {
		s.fail(a.problem(err, "stream of a turn"))
	} else {
		_ = s.send(Event{Kind: "result", Data: result}) // a.closed logs the error
	}
}

// streamed returns an answer that write writes itself.
func streamed(write func(http.ResponseWriter, *http.Request)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		write(w, r)
	}}
}

// atOnce answers with JSON as a whole, for a route that can also stream.
func atOnce(body json.RawMessage) *huma.StreamResponse {
	return streamed(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // an error means that the client is gone; the turn is in the transcript
	})
}

// wantsEvents reports whether a client accepts text/event-stream.
func wantsEvents(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err == nil && kind == "text/event-stream" && params["q"] != "0" {
			return true
		}
	}
	return false
}
