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

// A Host fires events through plugins; *patchbay.Host is one.
//
// A host may also have a method Listens(context.Context, hook.Point) bool, which reports whether
// any plugin is called at a point. If no plugin is, the agent does not fire session.idle, whose
// payload is the whole transcript.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	// Alters reports whether a plugin that takes part at point can change or end the event. A
	// plugin that only observes can end it only by failing, and only if its on_failure says so.
	Alters(ctx context.Context, point hook.Point) bool
}

// A Log is one session's transcript while a turn is running; *sessionstore.Turn is one. Once Append
// or Compact has returned nil, its messages are stored.
//
// A log may also have a method Earlier() int, which returns the number of model replies that
// compactions removed. The offline model, which plays the replies of a script in order, counts them
// as played.
type Log interface {
	Messages() []model.Message // after compactions; the caller must not change them, so they need not be copied
	Append(ctx context.Context, messages ...model.Message) error
	Compact(ctx context.Context, c session.Compaction) error
}

// The types of tools, which all adapters share.
type (
	// Tool is a tool that the model may call.
	Tool = adapter.Tool
	// Call is one call of a tool.
	Call = adapter.Call
	// ToolResult is the result of a call.
	ToolResult = adapter.ToolResult
)

// An Agent runs turns: it takes a message through plugins, a model and tools. Its fields must not
// change once it is in use. It is safe for concurrent use by many sessions.
type Agent struct {
	Host    Host
	Model   model.Model
	Tools   func() []Tool // called before each model call; nil: no tools
	Approve Approver      // nil: every tool may run
	Prompt  string        // the base prompt; "": the default
	Project string        // the project's instructions for agents, added to the end of the base prompt; "": none
	Steps   int           // model calls in one turn; 0: DefaultSteps
	Compact CompactOptions
	Logger  *slog.Logger // nil: no log
}

// An Approver decides whether a tool that changes things may run. A refusal has a reason, which the
// model is told. An error means that the question could not be asked, and counts as a refusal.
// Parallel calls ask at the same time.
type Approver func(ctx context.Context, t Tool, c model.ToolCall) (Approval, error)

// An Approval is the answer to whether a tool may run.
type Approval struct {
	Allowed bool
	Reason  string
}

// CompactOptions say when and how a transcript is compacted.
type CompactOptions struct {
	Strategy string  // drop | summarize | delegate | checkpoint; "": summarize
	At       float64 // part of the model's window at which compaction starts; 0: 0.8
	Keep     int     // how many messages at the end stay as they are; 0: DefaultKeep
}

// A Turn is one message of the user and everything that follows from it.
type Turn struct {
	ID      string // "": a new one
	Session session.Session
	Log     Log // nil: one in memory, lost after the turn
	Text    string
	Observe func(Event) // called with each event of the turn, one at a time; nil: no observer
}

// A Result says how a turn ended, as `chat -p --json` prints it.
type Result struct {
	SessionID string    `json:"session_id" doc:"The session." example:"ses_01jz"`
	Text      string    `json:"text" doc:"The answer, as plugins left it." example:"It has 42 words."`
	Skipped   bool      `json:"skipped" doc:"A plugin dropped or refused the message." example:"false"`
	Tools     []ToolUse `json:"tools" doc:"The tools that were called."`
	Error     *string   `json:"error" doc:"What went wrong; null if nothing did." example:"the model does not answer"`

	Turn    string         `json:"turn" doc:"The turn." example:"turn_01jz"`
	Status  session.Status `json:"status" enum:"done,failed,skipped,interrupted" doc:"How it ended." example:"done"`
	Reason  string         `json:"reason,omitempty" doc:"Why a plugin refused the message." example:"no secrets in prompts"`
	Suggest string         `json:"suggest,omitempty" doc:"A suggestion for a person; never execute it." example:"take the token out"`
	Usage   model.Usage    `json:"usage" doc:"The tokens that the turn used."`
	Offline bool           `json:"offline,omitempty" doc:"The built-in offline model answered." example:"true"`
}

// A ToolUse is one tool call of a turn.
type ToolUse struct {
	Name       string          `json:"name" doc:"The tool." example:"read_file"`
	Arguments  json.RawMessage `json:"arguments" doc:"The arguments with which it was executed." example:"{\"path\":\"notes.md\"}"`
	Result     string          `json:"result" doc:"What it answered." example:"# Notes\n"`
	Success    bool            `json:"success" doc:"Whether it succeeded." example:"true"`
	ResolvedBy *string         `json:"resolved_by" doc:"The plugin that answered instead of the tool; null if the tool ran." example:"words"`
	CallID     string          `json:"call_id" doc:"The id of the call." example:"call_1"`
	Error      string          `json:"error,omitempty" doc:"How it failed; absent if it succeeded." example:"no such file"`
	DurationMS int64           `json:"duration_ms" doc:"How many milliseconds it took." example:"12"`
}

// An EventType is the type of an [Event].
type EventType string

// The types of events in a turn, in the order in which they can occur.
const (
	TurnStarted  EventType = "turn.started"  // Text: the user's message
	Point        EventType = "point"         // Outcome: an event went through the plugins
	TextDelta    EventType = "text"          // Text: more of the reply
	TextHeld     EventType = "text.held"     // Held: the length of the reply so far; it is not shown until plugins have seen all of it
	Retrying     EventType = "retry"         // Text: why; discard the part of this reply that was streamed
	ModelReplied EventType = "reply"         // Text: the reply after plugins changed it; it replaces the streamed text
	ToolStarted  EventType = "tool.started"  // Tool
	ToolOutput   EventType = "tool.output"   // Tool, Text: output of the running tool
	ToolFinished EventType = "tool.finished" // Tool
	Compacted    EventType = "compacted"     // Compaction
	TurnFinished EventType = "turn.finished" // Result
)

// An Event is something that happened in a turn, in the form in which streams print it.
type Event struct {
	Type       EventType           `json:"type"`
	Session    string              `json:"session_id"`
	Turn       string              `json:"turn"`
	Time       time.Time           `json:"time"`
	Text       string              `json:"text,omitempty"`
	Held       int                 `json:"held,omitempty"` // characters
	Usage      model.Usage         `json:"-"`              // of a reply, for observers in this process
	Tool       *ToolUse            `json:"tool,omitempty"`
	Outcome    *hook.Trace         `json:"outcome,omitempty"`
	Compaction *session.Compaction `json:"compaction,omitempty"`
	Result     *Result             `json:"result,omitempty"`
}
