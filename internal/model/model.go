package model

import (
	"context"
	"encoding/json"
	"time"
)

// A Model answers a conversation. It is safe for concurrent use.
type Model interface {
	// Info says who answers.
	Info() Info
	// Reply asks for the next message of the conversation. What the model says is handed to stream
	// as it comes (nil: nobody listens), by the calling goroutine. The response is whole, whether
	// anybody listened or not.
	Reply(ctx context.Context, req *Request, stream func(Delta)) (*Response, error)
}

// Info says who answers.
type Info struct {
	Provider string `json:"provider"` // anthropic | openai | offline
	Name     string `json:"name"`
	Window   int    `json:"window"`  // tokens a conversation may have
	Offline  bool   `json:"offline"` // no model is configured: the answers are played or echoed
}

// A Request is a conversation to be answered.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int // of the reply; 0: the model's default

	// Earlier counts the assistant's messages that a compaction took out of Messages. Only the
	// offline model's script asks: it goes on where it was.
	Earlier int
}

// A Role is who says a message.
type Role string

// The roles. System messages inside a conversation are what plugins injected.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// A Message is one message of a conversation, as transcripts keep it and plugins see it.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`

	ToolCalls []ToolCall `json:"tool_calls,omitempty"` // assistant: what it wants done

	ToolCallID string `json:"tool_call_id,omitempty"` // tool: which call this answers
	Name       string `json:"name,omitempty"`         // tool: the tool's name
	Failed     bool   `json:"failed,omitempty"`       // tool: it did not succeed
}

// A ToolCall is a tool that the model wants to have called.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // an object

	// Malformed is what the model wrote where an object was due; Arguments is then {}. Such a call
	// must not run: answer it with [ToolCall.Problem].
	Malformed string `json:"malformed,omitempty"`
}

// A Tool is what a model is told about a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// A Delta is a piece of a reply under way.
type Delta struct {
	Text     string // to be added to what was said
	ToolCall string // a tool call has begun: the tool's name

	// A reply is being asked for again: what was streamed so far is void.
	Retry *Retry
}

// A Retry is another try at a reply, after an error that may pass.
type Retry struct {
	Attempt int           `json:"attempt"` // the one to come, from 2
	After   time.Duration `json:"after"`
	Err     error         `json:"-"`
}

// A Response is a whole reply.
type Response struct {
	Text      string
	ToolCalls []ToolCall
	Stop      StopReason
	Usage     Usage
}

// A StopReason is why a reply ended.
type StopReason string

// The reasons.
const (
	StopEnd     StopReason = "end"     // the model had said what it had to say
	StopTools   StopReason = "tools"   // it waits for its tool calls
	StopLength  StopReason = "length"  // the reply or the conversation is too long
	StopRefusal StopReason = "refusal" // the provider would not answer
)

// Usage counts tokens.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}
