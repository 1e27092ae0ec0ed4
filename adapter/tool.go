package adapter

import (
	"context"
	"encoding/json"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// A Tool is something that a model can call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	Changes     bool            // it may change things, so it needs approval
	Plugin      string          // the plugin that provides it; "": built in

	// Definition is the tool in the terms of its protocol, if that says more than the fields above;
	// otherwise nil.
	Definition json.RawMessage

	// Run runs the tool. If the tool ran and failed, that is a result; an error means that it could
	// not run.
	Run func(ctx context.Context, call Call) (ToolResult, error)
}

// A Call is one call of a tool.
type Call struct {
	ID        string
	Session   session.Session
	Arguments json.RawMessage   // an object
	Progress  func(text string) // called with output as it comes; never nil; safe for concurrent use
}

// A ToolResult is the result of a tool call.
type ToolResult struct {
	Output  string
	Success bool
	Error   string // why the call failed, if Success is false

	// Raw is the result in the terms of the tool's protocol, if that says more than a text: an
	// object. It is dropped when a plugin changes the result.
	Raw json.RawMessage
	// Pending is set if the tool needs something before it can go on. Raw says what. The tool has
	// not finished.
	Pending bool
}

// Failed returns the result of a call that failed.
func Failed(why string) ToolResult { return ToolResult{Output: why, Error: why} }
