package model

import (
	"context"
	"encoding/json"
	"time"
)

// A Model answers a conversation. It is safe for concurrent use.
type Model interface {
	// Info describes the model.
	Info() Info
	// Reply asks for the next message of the conversation. It calls stream (which may be nil) with
	// the parts of the reply as they come, on the calling goroutine. The response is always
	// complete.
	Reply(ctx context.Context, req *Request, stream func(Delta)) (*Response, error)
}

// Info describes a model.
type Info struct {
	Provider string `json:"provider"` // anthropic | openai | offline
	Name     string `json:"name"`
	Window   int    `json:"window"`  // tokens that a conversation may have
	Offline  bool   `json:"offline"` // no model is configured: answers come from a script or are echoed
}

// A Request is a conversation to be answered.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int // of the reply; 0: the model's default

	// Earlier counts the assistant's messages that a compaction removed from Messages. Only the
	// offline model uses it, to continue its script at the right place.
	Earlier int
}

// A Role says who wrote a message.
type Role string

// The roles. System messages inside a conversation come from plugins.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// A Message is one message of a conversation, as it is stored in transcripts and sent to plugins.
type Message struct {
	Role    Role   `json:"role" doc:"user, assistant, tool or system." example:"user"`
	Content string `json:"content" doc:"The text of the message." example:"hello"`

	ToolCalls []ToolCall `json:"tool_calls,omitempty" doc:"The tool calls that the model asks for."`

	ToolCallID string `json:"tool_call_id,omitempty" doc:"For the answer of a tool: the call that it answers." example:"call_1"`
	Name       string `json:"name,omitempty" doc:"For the answer of a tool: the tool." example:"read_file"`
	Failed     bool   `json:"failed,omitempty" doc:"For the answer of a tool: the call failed." example:"false"`
}

// A ToolCall is a call that the model wants.
type ToolCall struct {
	ID        string          `json:"id" doc:"The id that the answer repeats." example:"call_1"`
	Name      string          `json:"name" doc:"The tool." example:"read_file"`
	Arguments json.RawMessage `json:"arguments" doc:"The arguments of the call, an object." example:"{\"path\":\"notes.md\"}"`

	// Malformed is the text that the model wrote instead of an object; Arguments is then {}. Such a
	// call must not run: answer it with [ToolCall.Problem].
	Malformed string `json:"malformed,omitempty" doc:"What the model wrote, if it is not a JSON object." example:"{path:"`
}

// A Tool describes a tool for a model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// A Delta is a part of a reply that is being streamed.
type Delta struct {
	Text     string // to be added to the text
	ToolCall string // a tool call has begun: the tool's name

	// Retry is set if the reply is requested again: everything that was streamed so far is void.
	Retry *Retry
}

// A Retry announces another try, after an error that may pass.
type Retry struct {
	Attempt int           `json:"attempt"` // the number of the next try, from 2
	After   time.Duration `json:"after"`
	Err     error         `json:"-"`
}

// A Response is a complete reply.
type Response struct {
	Text      string
	ToolCalls []ToolCall
	Stop      StopReason
	Usage     Usage
}

// A StopReason says why a reply ended.
type StopReason string

// The reasons.
const (
	StopEnd     StopReason = "end"     // the reply is finished
	StopTools   StopReason = "tools"   // the model waits for the results of its tool calls
	StopLength  StopReason = "length"  // the reply or the conversation is too long
	StopRefusal StopReason = "refusal" // the provider refused to answer
)

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input" doc:"Tokens that the model read." example:"1306"`
	Output int `json:"output" doc:"Tokens that the model wrote." example:"68"`
}
