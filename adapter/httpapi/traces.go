package httpapi

import (
	"context"
	"encoding/json"
	"time"
)

// A TraceView is an event that went through plugins, as clients see it.
type TraceView struct {
	_       struct{}  `additionalProperties:"true"`
	ID      uint64    `json:"id" doc:"Its place in the journal; the id of its event." example:"58"`
	Type    string    `json:"type" doc:"Always point." example:"point"`
	Session string    `json:"session_id" doc:"The session; may be empty." example:"ses_01jz"`
	Turn    string    `json:"turn" doc:"The turn; may be empty." example:"turn_01jz"`
	Host    string    `json:"host" doc:"Where the session came from: chat, http, or the name of another agent; empty where it is not known." example:"claude"`
	Time    time.Time `json:"time" doc:"When it was over." example:"2026-11-16T06:00:19Z"`
	Began   time.Time `json:"began" doc:"When the first plugin was asked." example:"2026-11-16T06:00:18.9Z"`
	TookUS  int64     `json:"took_us" doc:"How many microseconds the plugins took." example:"2210"`
	Failed  bool      `json:"failed" doc:"Whether a plugin failed." example:"false"`
	Outcome Outcome   `json:"outcome" doc:"What came of it."`
}

// An Outcome is what came of an event. Fields that a protocol adds pass through.
type Outcome struct {
	_       struct{}        `additionalProperties:"true"`
	Point   string          `json:"point" doc:"Where it was fired." example:"turn.input"`
	Verdict string          `json:"verdict" enum:"continue,stop,skip,deny" doc:"What is to become of it." example:"continue"`
	Reason  string          `json:"reason" doc:"Why; may be empty." example:"no secrets in prompts"`
	Suggest string          `json:"suggest" doc:"What a person could do about it; never to be executed." example:"take the token out"`
	By      string          `json:"by,omitempty" doc:"Which plugin's verdict it is; absent where it is none's." example:"guard"`
	Payload json.RawMessage `json:"payload" doc:"As plugins left it; null in a brief list." example:"{\"message\":\"HELLO\"}"`
	Steps   []Step          `json:"steps" doc:"Each plugin that was asked, in order."`
}

// A Step is one plugin's part in an event.
type Step struct {
	_          struct{}        `additionalProperties:"true"`
	Plugin     string          `json:"plugin" doc:"Who was asked." example:"shout"`
	Dialect    string          `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Hook       string          `json:"hook" doc:"By its dialect's name." example:"preprocess_prompt"`
	Connected  bool            `json:"connected,omitempty" doc:"Wired by the configuration." example:"false"`
	Verdict    string          `json:"verdict" doc:"What it said." example:"continue"`
	Changed    bool            `json:"changed" doc:"Whether it changed the payload." example:"true"`
	StartUS    int64           `json:"start_us" required:"false" doc:"In a trace: when it was asked, in microseconds after the first one." example:"412"`
	DurationUS int64           `json:"duration_us" doc:"How many microseconds it took." example:"388"`
	Error      *string         `json:"error" doc:"How it failed; null where it did not." example:"plugin shout (scaffold) preprocess_prompt: timed out after 5s"`
	ErrorKind  string          `json:"error_kind,omitempty" doc:"The kind of its failure." example:"timeout"`
	OnFailure  string          `json:"on_failure,omitempty" doc:"What its failure did to the event." example:"skip"`
	Notes      []string        `json:"notes,omitempty" doc:"What is odd about it, such as what its sandbox refused." example:"[\"sandbox: denied connection to 192.0.2.7:443\"]"`
	Sent       json.RawMessage `json:"sent,omitempty" doc:"In a trace: what it was sent." example:"{\"prompt\":\"hello\"}"`
	Received   json.RawMessage `json:"received,omitempty" doc:"In a trace: what it answered." example:"{\"prompt\":\"HELLO\"}"`
	Diff       json.RawMessage `json:"diff,omitempty" doc:"In a trace: what that changed in the payload." example:"[{\"path\":\"/message\",\"old\":\"hello\",\"new\":\"HELLO\"}]"`
}

// A TurnView is a turn at a glance.
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
	Turns []TurnView `json:"turns" doc:"The last to have had an event first."`
	Next  string     `json:"next,omitempty" doc:"What to send as after for the next page. It is absent where there is none." example:"dHVybnM6NTg"`
}

type traceQuery struct {
	Session string `query:"session" maxLength:"256" doc:"Of this session alone." example:"ses_01jz"`
	Turn    string `query:"turn" maxLength:"256" doc:"Of this turn alone." example:"turn_01jz"`
	Point   string `query:"point" maxLength:"256" doc:"At this point alone." example:"turn.input"`
	Plugin  string `query:"plugin" maxLength:"256" doc:"In which this plugin was asked." example:"shout"`
	Host    string `query:"host" maxLength:"256" doc:"Of sessions that came from there: chat, http, or the name of another agent." example:"claude"`
	Failed  bool   `query:"failed" doc:"In which a plugin failed." example:"true"`
	Brief   bool   `query:"brief" doc:"Without payloads, and without what plugins were sent and answered." example:"true"`
	PageQuery
}

type traceID struct {
	ID uint64 `path:"id" minimum:"1" doc:"The id of the trace." example:"58"`
}

type turnQuery struct {
	Session string `query:"session" maxLength:"256" doc:"Of this session alone." example:"ses_01jz"`
	Limit   int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"At most so many." example:"20"`
	After   string `query:"after" maxLength:"1024" doc:"Go on behind the page that had this as its next." example:"dHVybnM6NTg"`
}

func (a *api) addTraces() {
	const tag = "inspect"
	add(a, route{method: "GET", path: "/v1/traces", id: "list-traces", tag: tag, summary: "List what plugins did to events",
		doc: "The newest first.", shape: tracePage{}, errors: []int{400, 422}}, func(ctx context.Context, in *traceQuery) (*answer[json.RawMessage], error) {
		return encoded(a.Inspect.Traces(ctx, TraceFilter{Session: in.Session, Turn: in.Turn, Point: in.Point, Plugin: in.Plugin, Host: in.Host,
			Failed: in.Failed, Brief: in.Brief, Page: in.page()}))
	})
	add(a, route{method: "GET", path: "/v1/traces/{id}", id: "get-trace", tag: tag, summary: "Show what plugins did to one event",
		doc: "With what each was sent, what it answered, what that changed, when it was asked and how long it took.", shape: TraceView{}, errors: []int{404, 422}},
		func(ctx context.Context, in *traceID) (*answer[json.RawMessage], error) {
			return encoded(a.Inspect.Trace(ctx, in.ID))
		})
	add(a, route{method: "GET", path: "/v1/turns", id: "list-turns", tag: tag, summary: "List turns whose events went through plugins",
		doc: "Of sessions of every kind, those of other agents' hooks included.", errors: []int{400, 422}},
		func(ctx context.Context, in *turnQuery) (*answer[TurnPage], error) {
			return answered(a.Inspect.Turns(ctx, TurnFilter{Session: in.Session, Page: Page{Limit: in.Limit, After: in.After}}))
		})
	a.addRecording(tag)
}
