package chat

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A Host takes events through plugins; *patchbay.Host is one.
//
// A host may also have a method Listens(context.Context, hook.Point) bool: whether any plugin is
// asked at a point at all. Where none is, the point of a quiet session, which has the whole
// transcript in it, is not fired.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	// Alters tells whether a plugin takes part at point that can change the event: those that are
	// only told of it do not count.
	Alters(ctx context.Context, point hook.Point) bool
}

// A Log is one session's transcript while a turn is running; *sessionstore.Turn is one. What Append
// and Compact returned nil for is kept.
//
// A log may also have a method Earlier() int: how many of the model's replies compactions took out.
// The offline model's script goes on by that count.
type Log interface {
	Messages() []model.Message // as they stand, compactions applied; not to be changed: they need not be copied
	Append(ctx context.Context, messages ...model.Message) error
	Compact(ctx context.Context, c session.Compaction) error
}

// What a tool is, and a call of one, is the same for every host.
type (
	Tool       = adapter.Tool
	Call       = adapter.Call
	ToolResult = adapter.ToolResult
)

// An Agent runs turns: messages in, plugins around, model and tools inside. Its fields are not
// changed once it is in use; it is safe for concurrent use by many sessions.
type Agent struct {
	Host    Host
	Model   model.Model
	Tools   func() []Tool // asked anew for each model call; nil: none
	Approve Approver      // nil: everything is allowed
	Prompt  string        // the base prompt; "": the default
	Project string        // what the project at hand says to agents, at the end of the base prompt; "": nothing
	Steps   int           // model calls in one turn; 0: DefaultSteps
	Compact CompactOptions
	Logger  *slog.Logger // nil discards
}

// An Approver decides whether a tool that changes things may run. A refusal has a reason, which the
// model is told; the error is for a question that could not be put, and counts as a refusal. Of one
// turn, one question is put at a time.
type Approver func(ctx context.Context, t Tool, c model.ToolCall) (Approval, error)

// An Approval is an answer to the question whether a tool may run.
type Approval struct {
	Allowed bool
	Reason  string
}

// CompactOptions say when and how a transcript is compacted.
type CompactOptions struct {
	Strategy string  // drop | summarize | delegate | checkpoint; "": summarize
	At       float64 // of the model's window; 0: 0.8
	Keep     int     // messages at the end that stay as they are; 0: DefaultKeep
}

// A Turn is one message of the user's and all that comes of it.
type Turn struct {
	ID      string // "": one is made
	Session session.Session
	Log     Log // nil: one in memory, gone with the turn
	Text    string
	Observe func(Event) // told what happens as it happens, one event at a time; nil: nobody
}

// A Result is what a turn came to, as `chat -p --json` prints it.
type Result struct {
	SessionID string    `json:"session_id"`
	Text      string    `json:"text"`
	Skipped   bool      `json:"skipped"`
	Tools     []ToolUse `json:"tools"`
	Error     *string   `json:"error"`

	Turn    string         `json:"turn"`
	Status  session.Status `json:"status"`
	Reason  string         `json:"reason,omitempty"`  // why it was refused
	Suggest string         `json:"suggest,omitempty"` // what a person could do about it
	Usage   model.Usage    `json:"usage"`
	Offline bool           `json:"offline,omitempty"` // the built-in offline model answered
}

// A ToolUse is one tool call of a turn.
type ToolUse struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"` // as executed
	Result     string          `json:"result"`
	Success    bool            `json:"success"`
	ResolvedBy *string         `json:"resolved_by"` // the plugin that answered in the tool's place; null: it ran
	CallID     string          `json:"call_id"`
	Error      string          `json:"error,omitempty"`
	DurationMS int64           `json:"duration_ms"`
}

// An EventType says what an [Event] is about.
type EventType string

// The events of a turn, in the order in which they can come.
const (
	TurnStarted  EventType = "turn.started"  // Text: the user's message
	Point        EventType = "point"         // Outcome: an event went through the plugins
	TextDelta    EventType = "text"          // Text: to be added to the reply
	TextHeld     EventType = "text.held"     // Held: so much of the reply waits until plugins have seen the whole
	Retrying     EventType = "retry"         // Text: why; what was streamed of this reply is void
	ModelReplied EventType = "reply"         // Text: the reply as plugins left it; it replaces what was streamed
	ToolStarted  EventType = "tool.started"  // Tool
	ToolOutput   EventType = "tool.output"   // Tool, Text: output as it comes
	ToolFinished EventType = "tool.finished" // Tool
	Compacted    EventType = "compacted"     // Compaction
	TurnFinished EventType = "turn.finished" // Result
)

// An Event is something that happened in a turn, as streams of it print it.
type Event struct {
	Type       EventType           `json:"type"`
	Session    string              `json:"session_id"`
	Turn       string              `json:"turn"`
	Time       time.Time           `json:"time"`
	Text       string              `json:"text,omitempty"`
	Held       int                 `json:"held,omitempty"` // characters
	Usage      model.Usage         `json:"-"`              // of a reply, for who watches in this process
	Tool       *ToolUse            `json:"tool,omitempty"`
	Outcome    *hook.Trace         `json:"outcome,omitempty"`
	Compaction *session.Compaction `json:"compaction,omitempty"`
	Result     *Result             `json:"result,omitempty"`
}
