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
		Text string `json:"text" minLength:"1" doc:"What the user says."`
	}
}

type interrupted struct {
	Interrupted bool `json:"interrupted" doc:"Whether a turn was running."`
}

func (a *api) addTurns() {
	const tag = "sessions"
	for _, p := range sessionPrefixes {
		add(a, route{method: "POST", path: p.path + "/{id}/message", id: p.id + "-message", tag: tag,
			summary: "Say something to the agent", shape: turnResult{}, events: true, errors: []int{404, 409, 503},
			doc: "The turn belongs to this request: a client that goes away interrupts it. With `Accept: text/event-stream` " +
				"the events of the turn come as they happen, each with its type; the last is `result`, " +
				"with what the other form answers, or `error`, with a detail."}, a.message)
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

// streamTurn runs a turn in the context of its stream, so that a client that cannot be reached
// interrupts it.
func (a *api) streamTurn(w http.ResponseWriter, r *http.Request, in *message) {
	s, ctx := a.open(w, r)
	defer a.closed(s)
	result, err := a.Turns.Run(ctx, in.ID, in.Body.Text, func(kind string, event json.RawMessage) {
		_ = s.send(Event{Kind: kind, Data: event}) // an error has ended ctx, and so the turn
	})
	if err != nil {
		s.fail(a.problem(err, "stream of a turn"))
	} else {
		_ = s.send(Event{Kind: "result", Data: result}) // closed has the error
	}
}

// streamed is an answer that is written by hand.
func streamed(write func(http.ResponseWriter, *http.Request)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		write(w, r)
	}}
}

// atOnce answers with JSON as a whole, where the same route can also stream.
func atOnce(body json.RawMessage) *huma.StreamResponse {
	return streamed(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // a client that is gone can ask again, and has its turn in the transcript
	})
}

// wantsEvents looks for text/event-stream among what a client accepts.
func wantsEvents(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err == nil && kind == "text/event-stream" && params["q"] != "0" {
			return true
		}
	}
	return false
}
