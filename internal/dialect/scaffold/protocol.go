package scaffold

import (
	"encoding/json"
	"time"
)

const (
	// mostPlugins is the limit of docs/protocols/scaffold.md, row S27.
	mostPlugins = 16
	// replyTimeout is that of docs/protocols/scaffold.md, rows S2, S18 and S41.
	replyTimeout = 5 * time.Second
	// killGrace is the time between SIGTERM and SIGKILL: docs/protocols/scaffold.md, row S48.
	killGrace = time.Second
	// mostReply is the limit of docs/protocols/scaffold.md, row S46.
	mostReply = 10 << 20
	// mostRequest limits requests. It equals mostReply: a plugin could not send a longer text back.
	mostRequest = 10 << 20
)

// The methods that the host calls.
const (
	methodInitialize = "initialize"
	methodShutdown   = "shutdown"
	methodExecute    = "tool/execute"
	methodHook       = "hook/" // followed by the hook's name
)

// The actions of a hook's reply. Any other action means continue, and so does a missing one.
const (
	actionContinue = "continue"
	actionStop     = "stop"
	actionSkip     = "skip"
)

// actions are all of them.
var actions = []string{actionContinue, actionStop, actionSkip}

// blocked is the result if a plugin stops a call and sends no result of its own.
const blocked = `{"blocked":"Plugin blocked execution"}`

// initializeParams are the params of initialize: docs/protocols/scaffold.md, row S28.
var initializeParams = json.RawMessage(`{"protocol_version":1}`)

// The fields of the manifest and of its tools.
var (
	manifestFields = []string{"name", "version", "description", "hooks", "tools", "priority"}
	toolFields     = []string{"name", "description", "parameters"}
)

// manifestJSON is the answer to initialize. Its fields are raw, so that a fault in an optional
// field can be reported without losing the others.
type manifestJSON struct {
	Name        json.RawMessage `json:"name"`
	Version     json.RawMessage `json:"version"`
	Description json.RawMessage `json:"description"`
	Hooks       json.RawMessage `json:"hooks"`
	Tools       json.RawMessage `json:"tools"`
	Priority    json.RawMessage `json:"priority"`

	MCP json.RawMessage `json:"protocolVersion"` // not part of scaffold: only an MCP server has it
}

type toolJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  []parameterJSON `json:"parameters"`
}

type parameterJSON struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}
