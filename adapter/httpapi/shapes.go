package httpapi

import (
	"encoding/json"
	"time"
)

// The types below are for the OpenAPI document alone: they say what the JSON
// looks like that a backend returns ready made. Other programs rely on these fields; more may come beside them.

type tool struct {
	_           struct{}        `additionalProperties:"true"`
	Name        string          `json:"name" doc:"As it is called, with the plugin's name in it."`
	Plugin      string          `json:"plugin"`
	Dialect     string          `json:"dialect"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters" doc:"JSON Schema of an object."`
}

type tracePage struct {
	Traces []trace `json:"traces"`
	Next   string  `json:"next,omitempty" doc:"What to send as after for the next page. It is absent where there is none."`
}

type runPage struct {
	Runs []map[string]any `json:"runs"`
	Next string           `json:"next,omitempty" doc:"What to send as after for the next page. It is absent where there is none."`
}

type trace struct {
	Type    string    `json:"type" doc:"Always point."`
	Session string    `json:"session_id"`
	Turn    string    `json:"turn"`
	Time    time.Time `json:"time"`
	Outcome outcome   `json:"outcome"`
}

type outcome struct {
	_       struct{}        `additionalProperties:"true"`
	Point   string          `json:"point"`
	Verdict string          `json:"verdict" enum:"continue,stop,skip,deny"`
	Reason  string          `json:"reason"`
	Suggest string          `json:"suggest" doc:"What a person could do about it; never to be executed."`
	Payload json.RawMessage `json:"payload"`
	Steps   []step          `json:"steps"`
}

type step struct {
	_          struct{}        `additionalProperties:"true"`
	Plugin     string          `json:"plugin"`
	Dialect    string          `json:"dialect"`
	Hook       string          `json:"hook"`
	Verdict    string          `json:"verdict"`
	Changed    bool            `json:"changed"`
	DurationUS int64           `json:"duration_us"`
	Error      *string         `json:"error"`
	Sent       json.RawMessage `json:"sent,omitempty" doc:"In a trace."`
	Received   json.RawMessage `json:"received,omitempty" doc:"In a trace."`
	Diff       json.RawMessage `json:"diff,omitempty" doc:"In a trace: what changed in the payload."`
}

type doctor struct {
	_        struct{}  `additionalProperties:"true"`
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

type finding struct {
	_        struct{}       `additionalProperties:"true"`
	Severity string         `json:"severity" enum:"error,warning,info" doc:"Only an error makes a diagnosis not ok." example:"error"`
	Plugin   string         `json:"plugin" doc:"Whose; empty where it is no plugin's." example:"shout"`
	Dialect  string         `json:"dialect" doc:"The plugin's protocol; may be empty." example:"dotagent"`
	Where    string         `json:"where" doc:"A file, with line and column where they are known." example:"/home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Problem  string         `json:"problem" doc:"What is wrong, for a person to read." example:"it is not executable"`
	Fix      string         `json:"fix" doc:"How to fix it; may be empty." example:"chmod +x /home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Action   *findingAction `json:"action,omitempty" doc:"What fixes it at once; absent where a person has to."`
}

type findingAction struct {
	Kind   string `json:"kind" enum:"executable,enable,restart" doc:"executable and restart are routes of the plugin; enable is a change of the configuration." example:"executable"`
	Plugin string `json:"plugin" doc:"The plugin, by a name that means no other." example:"dotagent:shout"`
}

type turnResult struct {
	_         struct{}  `additionalProperties:"true"`
	SessionID string    `json:"session_id"`
	Text      string    `json:"text"`
	Skipped   bool      `json:"skipped" doc:"A plugin dropped or refused the message."`
	Tools     []toolUse `json:"tools"`
	Error     *string   `json:"error"`
}

type toolUse struct {
	_          struct{}        `additionalProperties:"true"`
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Result     string          `json:"result"`
	Success    bool            `json:"success"`
	ResolvedBy *string         `json:"resolved_by" doc:"The plugin that answered in the tool's place."`
}
