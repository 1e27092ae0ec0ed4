package httpapi

import (
	"encoding/json"
)

// The types below are only for the OpenAPI document: they describe the JSON that a backend returns.
// Other programs rely on these fields; new ones may be added.

type tool struct {
	_           struct{}        `additionalProperties:"true"`
	Name        string          `json:"name" doc:"The full name, which contains the plugin's name."`
	Plugin      string          `json:"plugin"`
	Dialect     string          `json:"dialect"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters" doc:"JSON Schema of an object."`
}

type tracePage struct {
	Traces []TraceView `json:"traces" doc:"The newest first."`
	Next   string      `json:"next,omitempty" doc:"The value of after for the next page; absent if there is none."`
}

type doctor struct {
	_        struct{}  `additionalProperties:"true"`
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

type finding struct {
	_        struct{}       `additionalProperties:"true"`
	Severity string         `json:"severity" enum:"error,warning,info" doc:"Only an error makes a diagnosis not ok." example:"error"`
	Plugin   string         `json:"plugin" doc:"The plugin; empty if the finding is not about a plugin." example:"shout"`
	Dialect  string         `json:"dialect" doc:"The plugin's protocol; may be empty." example:"dotagent"`
	Where    string         `json:"where" doc:"A file, with line and column if they are known." example:"/home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Problem  string         `json:"problem" doc:"What is wrong, as text." example:"it is not executable"`
	Fix      string         `json:"fix" doc:"How to fix it; may be empty." example:"chmod +x /home/mira/.config/dotagent/plugins/dotagent-plugin-shout"`
	Action   *findingAction `json:"action,omitempty" doc:"A request that fixes it; absent if there is none."`
}

type findingAction struct {
	Kind   string `json:"kind" enum:"executable,enable,restart" doc:"executable and restart are routes of the plugin; enable is a change of the configuration." example:"executable"`
	Plugin string `json:"plugin" doc:"The plugin, as DIALECT:NAME if its name is ambiguous." example:"dotagent:shout"`
}

type turnResult struct {
	_         struct{}  `additionalProperties:"true"`
	SessionID string    `json:"session_id"`
	Text      string    `json:"text"`
	Skipped   bool      `json:"skipped" doc:"A plugin dropped or refused the message."`
	Tools     []toolUse `json:"tools"`
	Error     *string   `json:"error"`

	Turn    string     `json:"turn" doc:"The turn." example:"turn_01jz"`
	Status  string     `json:"status" enum:"done,failed,skipped,interrupted" doc:"How it ended." example:"done"`
	Reason  string     `json:"reason,omitempty" doc:"Why a plugin refused the message." example:"no secrets in prompts"`
	Suggest string     `json:"suggest,omitempty" doc:"A suggestion for a person; never execute it." example:"take the token out"`
	Usage   tokenUsage `json:"usage" doc:"The tokens that the turn used."`
	Offline bool       `json:"offline,omitempty" doc:"The built-in offline model answered." example:"true"`
}

type tokenUsage struct {
	Input  int `json:"input" doc:"Tokens that the model read." example:"1306"`
	Output int `json:"output" doc:"Tokens that the model wrote." example:"68"`
}

type toolUse struct {
	_          struct{}        `additionalProperties:"true"`
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Result     string          `json:"result"`
	Success    bool            `json:"success"`
	ResolvedBy *string         `json:"resolved_by" doc:"The plugin that answered instead of the tool."`
}
