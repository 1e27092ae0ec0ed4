package adapter

import (
	"context"
	"encoding/json"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// A Tool is something that a model can have done.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	Changes     bool            // it may change things: who may decide is asked first
	Plugin      string          // whose it is; "": built in

	// Definition is the tool in the words of its protocol, where that has more to say than the
	// fields above; nil: it has not.
	Definition json.RawMessage

	// Run does it. A tool that ran and failed is a result; the error is for those that could not
	// run.
	Run func(ctx context.Context, call Call) (ToolResult, error)
}

// A Call is one call of a tool.
type Call struct {
	ID        string
	Session   session.Session
	Arguments json.RawMessage   // an object
	Progress  func(text string) // output as it comes; never nil; safe from any goroutine
}

// A ToolResult is what a tool call came to.
type ToolResult struct {
	Output  string
	Success bool
	Error   string // why not, where Success is false

	// Raw is the result in the words of the tool's protocol, where that has more to say than a
	// text: an object. It is dropped when a plugin changes the result.
	Raw json.RawMessage
	// Pending: the tool asks for something before it goes on, and Raw says for what. It has not run
	// to its end.
	Pending bool
}

// Failed is the result of a call that came to nothing.
func Failed(why string) ToolResult { return ToolResult{Output: why, Error: why} }
