package httpapi

import (
	"context"
	"encoding/json"
	"time"
)

// A TraceView is an event that went through plugins, in the form for clients.
type TraceView struct {
	ID      uint64    `json:"id" doc:"Its place in the journal, which is the id of its event." example:"58"`
	Type    string    `json:"type" doc:"Always point." example:"point"`
	Session string    `json:"session_id" doc:"The session; may be empty." example:"ses_01jz"`
	Turn    string    `json:"turn" doc:"The turn; may be empty." example:"turn_01jz"`
	Host    string    `json:"host" doc:"Where the session came from: chat, http, or the name of another agent; empty if unknown." example:"claude"`
	Time    time.Time `json:"time" doc:"When it ended." example:"2026-11-16T06:00:19Z"`
	Began   time.Time `json:"began" doc:"When the first plugin was called." example:"2026-11-16T06:00:18.9Z"`
	TookUS  int64     `json:"took_us" doc:"How many microseconds the plugins took." example:"2210"`
	Failed  bool      `json:"failed" doc:"Whether a plugin failed." example:"false"`
	Outcome Outcome   `json:"outcome" doc:"The outcome."`
}

// An Outcome is the outcome of an event.
type Outcome struct {
	Point   string          `json:"point" doc:"The point at which it was fired." example:"turn.input"`
	Verdict string          `json:"verdict" enum:"continue,stop,skip,deny" doc:"What happens to the event." example:"continue"`
	Reason  string          `json:"reason" doc:"The reason of the verdict; may be empty." example:"no secrets in prompts"`
	Suggest string          `json:"suggest" doc:"A suggestion for a person; never execute it." example:"take the token out"`
	By      string          `json:"by,omitempty" doc:"The plugin that decided; absent if no plugin did." example:"guard"`
	Payload json.RawMessage `json:"payload" doc:"The payload as plugins left it; null in a brief list." example:"{\"message\":\"HELLO\"}"`
	Steps   []Step          `json:"steps" doc:"One step for each plugin that was called, in order."`
}

// A Step is one plugin's part in an event.
type Step struct {
	Plugin     string          `json:"plugin" doc:"The plugin." example:"shout"`
	Dialect    string          `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Hook       string          `json:"hook" doc:"The hook, by its name in the dialect." example:"post_user_input"`
	Connected  bool            `json:"connected,omitempty" doc:"Connected by the configuration." example:"false"`
	Verdict    string          `json:"verdict" doc:"Its verdict." example:"continue"`
	Changed    bool            `json:"changed" doc:"Whether it changed the payload." example:"true"`
	StartUS    *int64          `json:"start_us,omitempty" doc:"In a trace: when it was called, in microseconds after the first plugin." example:"412"`
	DurationUS int64           `json:"duration_us" doc:"How many microseconds it took." example:"388"`
	Error      *string         `json:"error" doc:"How it failed; null if it did not fail." example:"plugin shout (scaffold) post_user_input at turn.input: timed out after 5s"`
	ErrorKind  string          `json:"error_kind,omitempty" doc:"The kind of its failure." example:"timeout"`
	OnFailure  string          `json:"on_failure,omitempty" doc:"What its failure did to the event." example:"skip"`
	Notes      []string        `json:"notes,omitempty" doc:"Remarks, such as what its sandbox refused." example:"[\"sandbox: denied connection to 192.0.2.7:443\"]"`
	Sent       json.RawMessage `json:"sent,omitempty" doc:"In a trace: what it was sent." example:"{\"prompt\":\"hello\"}"`
	Received   json.RawMessage `json:"received,omitempty" doc:"In a trace: what it answered." example:"{\"prompt\":\"HELLO\"}"`
	Diff       json.RawMessage `json:"diff,omitempty" doc:"In a trace: what that changed in the payload." example:"[{\"path\":\"/message\",\"old\":\"hello\",\"new\":\"HELLO\"}]"`
}

// A TracePage is a page of traces.
type TracePage struct {
	Traces []TraceView `json:"traces" doc:"The newest first."`
	Next   string      `json:"next,omitempty" doc:"The value of after for the next page; absent if there is none." example:"dHJhY2VzOjU4"`
}

// A TurnView is a turn in a list.
type TurnView struct {
	Session  string    `json:"session_id" doc:"The session." example:"ses_01jz"`
	Turn     string    `json:"turn" doc:"The turn." example:"turn_01jz"`
	Host     string    `json:"host" doc:"Where the session came from: chat, http, or the name of another agent; may be empty." example:"chat"`
	Began    time.Time `json:"began" doc:"When its first event was fired." example:"2026-11-16T06:00:18.9Z"`
	TookUS   int64     `json:"took_us" doc:"From its first event to the end of its last one, in microseconds." example:"1210345"`
	Events   int       `json:"events" doc:"How many events went through plugins; counted up to 500." example:"9"`
	Failures int       `json:"failures" doc:"In how many of them a plugin failed." example:"0"`
	Title    string    `json:"title" doc:"The beginning of the user's message, as plugins left it; may be empty." example:"count the words in notes.md"`
}

// A TurnPage is a page of turns.
type TurnPage struct {
	Turns []TurnView `json:"turns" doc:"The turn with the latest event first."`
	Next  string     `json:"next,omitempty" doc:"The value of after for the next page; absent if there is none." example:"dHVybnM6NTg"`
}

type traceQuery struct {
	Session string `query:"session" maxLength:"256" doc:"Only of this session." example:"ses_01jz"`
	Turn    string `query:"turn" maxLength:"256" doc:"Only of this turn." example:"turn_01jz"`
	Point   string `query:"point" maxLength:"256" doc:"Only at this point." example:"turn.input"`
	Plugin  string `query:"plugin" maxLength:"256" doc:"Only events for which this plugin was called." example:"shout"`
	Host    string `query:"host" maxLength:"256" doc:"Only of sessions from here: chat, http, or the name of another agent." example:"claude"`
	Failed  bool   `query:"failed" doc:"Only events in which a plugin failed." example:"true"`
	Brief   bool   `query:"brief" doc:"Without payloads, and without what plugins were sent and answered." example:"true"`
	PageQuery
}

type traceID struct {
	ID uint64 `path:"id" minimum:"1" doc:"The id of the trace." example:"58"`
}

type turnQuery struct {
	Session string `query:"session" maxLength:"256" doc:"Only of this session." example:"ses_01jz"`
	Limit   int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"The largest number of turns." example:"20"`
	After   string `query:"after" maxLength:"1024" doc:"The value of next in the previous page." example:"dHVybnM6NTg"`
}

func (a *api) addTraces() {
	const tag = "inspect"
	add(a, route{method: "GET", path: "/v1/traces", id: "list-traces", tag: tag, summary: "List what plugins did to events",
		doc: "The newest first.", errors: []int{400, 422}}, func(ctx context.Context, in *traceQuery) (*answer[TracePage], error) {
		return answered(a.Inspect.Traces(ctx, TraceFilter{Session: in.Session, Turn: in.Turn, Point: in.Point, Plugin: in.Plugin, Host: in.Host,
			Failed: in.Failed, Brief: in.Brief, Page: in.page()}))
	})
	add(a, route{method: "GET", path: "/v1/traces/{id}", id: "get-trace", tag: tag, summary: "Show what plugins did to one event",
		doc: "For each plugin: what it was sent, what it answered, what that changed, when it was called and how long it took.", errors: []int{404, 422}},
		func(ctx context.Context, in *traceID) (*answer[TraceView], error) {
			return answered(a.Inspect.Trace(ctx, in.ID))
		})
	add(a, route{method: "GET", path: "/v1/turns", id: "list-turns", tag: tag, summary: "List turns whose events went through plugins",
		doc: "Turns of all sessions, including those of other agents.", errors: []int{400, 422}},
		func(ctx context.Context, in *turnQuery) (*answer[TurnPage], error) {
			return answered(a.Inspect.Turns(ctx, TurnFilter{Session: in.Session, Page: Page{Limit: in.Limit, After: in.After}}))
		})
	a.addRecording(tag)
}
