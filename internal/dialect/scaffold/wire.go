package scaffold

import (
	"encoding/json"
	"time"
)

// The protocol's figures.
const (
	// mostPlugins: seed 003, "Maximum 16 plugins".
	mostPlugins = 16
	// replyTimeout: seed 003, "5-second timeout per hook response"; the rulings give initialize and
	// shutdown the same.
	replyTimeout = 5 * time.Second
	// killGrace: the rulings, "SIGTERM, 1 s, SIGKILL".
	killGrace = time.Second
	// mostReply: the rulings, "A reply may have at most 10 MB".
	mostReply = 10 << 20
	// mostRequest bounds what we send: no plugin could send as much back.
	mostRequest = 10 << 20
)

// The methods a host calls.
const (
	methodInitialize = "initialize"
	methodShutdown   = "shutdown"
	methodExecute    = "tool/execute"
	methodHook       = "hook/" // and the hook's name
)

// The actions of a hook's reply. Unknown or missing is continue.
const (
	actionStop = "stop"
	actionSkip = "skip"
)

// blocked is the result of a stop that brings none of its own.
const blocked = `{"blocked":"Plugin blocked execution"}`

// initializeParams go with the handshake: seed 003, "params":{"protocol_version":1}.
var initializeParams = json.RawMessage(`{"protocol_version":1}`)

// manifestWire is the handshake's answer. What is not required is raw, because a plugin that errs
// in an optional field is told so and otherwise works.
type manifestWire struct {
	Name        json.RawMessage `json:"name"`
	Version     json.RawMessage `json:"version"`
	Description json.RawMessage `json:"description"`
	Hooks       json.RawMessage `json:"hooks"`
	Tools       json.RawMessage `json:"tools"`
	Priority    json.RawMessage `json:"priority"`
}

type toolWire struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  []parameterWire `json:"parameters"`
}

type parameterWire struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}
