package plugin

import (
	"encoding/json"
	"time"
)

// A SessionEvent says that a session begins. To add a text at the beginning of the conversation,
// set Inject and return Modify.
type SessionEvent struct {
	SessionID   string `json:"session_id"`
	WorkingDir  string `json:"working_dir"`
	ProjectRoot string `json:"project_root"`

	Inject string `json:"inject,omitempty"`
}

// An InputEvent is a message of the user. Message can be changed.
type InputEvent struct {
	Message string `json:"message"`
}

// A ContextEvent asks for context for the prompt. DynamicContext can be changed; append to it.
type ContextEvent struct {
	UserMessage    string `json:"user_message"`
	DynamicContext string `json:"dynamic_context"`
}

// Add appends a paragraph to the context.
func (e *ContextEvent) Add(text string) {
	if e.DynamicContext != "" {
		e.DynamicContext += "\n\n"
	}
	e.DynamicContext += text
}

// A PromptEvent is the prompt before it goes to the model. Both parts can be changed.
type PromptEvent struct {
	BasePrompt     string `json:"base_prompt"`
	DynamicContext string `json:"dynamic_context"`
}

// A ReplyEvent is a reply of the model. Text can be changed.
type ReplyEvent struct {
	Text      string     `json:"text"`
	ToolCalls []ToolCall `json:"tool_calls"`
}

// A ToolCall is a tool call in a reply of the model.
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// A FinalEvent is the answer of a turn. Text can be changed.
type FinalEvent struct {
	Text string `json:"text"`
}

// A ToolEvent is a tool that is about to run, or has run. Arguments can be changed before it runs,
// Result after it has run.
type ToolEvent struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id,omitempty"` // empty if the dialect does not have it
	Arguments json.RawMessage `json:"arguments"`         // a JSON object

	Result  string `json:"result,omitempty"`
	Success bool   `json:"success"`
}

// Argument returns one argument as a text: a string as it is, anything else as JSON; "" if it is
// missing.
func (e *ToolEvent) Argument(name string) string {
	var text string
	_ = members(e.Arguments, func(key, value []byte) { // arguments that are not an object have no members
		if string(key) == name {
			text = plain(value)
		}
	})
	return text
}

// Decode reads the arguments into a struct or a map. Unlike encoding/json it finds fields by their
// exact names: {"CMD":…} sets no field `json:"cmd"`.
func (e *ToolEvent) Decode(into any) error { return decodeExact(e.Arguments, into) }

// Encode replaces the arguments with a struct or a map.
func (e *ToolEvent) Encode(from any) error {
	text, err := marshal(from)
	if err == nil {
		e.Arguments = text
	}
	return err
}

// An IdleEvent says that a session is idle.
type IdleEvent struct {
	SessionID  string    `json:"session_id"`
	Transcript []Message `json:"transcript"`
}

// A Message is one entry of a transcript. Fields that this package does not know are kept.
type Message struct {
	Role    string
	Content string

	other json.RawMessage // the received message
}

// UnmarshalJSON reads a message.
func (m *Message) UnmarshalJSON(data []byte) error {
	var known struct{ Role, Content string }
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	m.Role, m.Content, m.other = known.Role, known.Content, append(json.RawMessage(nil), data...)
	return nil
}

// MarshalJSON writes a message, with its unknown fields.
func (m Message) MarshalJSON() ([]byte, error) {
	out := append(appendString([]byte(`{"role":`), m.Role), `,"content":`...)
	out = appendString(out, m.Content)
	if m.other != nil {
		err := members(m.other, func(key, value []byte) {
			if name := string(key); name != "role" && name != "content" {
				out = append(appendString(append(out, ','), name), ':')
				out = append(out, value...)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// A CompactEvent says that a transcript is about to be compacted. The plugin that does it (see
// [Plugin.Compactor]) sets Summary or Messages and returns Modify; all others only observe.
type CompactEvent struct {
	SessionID string    `json:"session_id"`
	Messages  []Message `json:"messages"`
	Strategy  string    `json:"strategy"` // drop, summarize, delegate or checkpoint
	Trigger   string    `json:"trigger"`  // auto or manual

	Summary string `json:"summary,omitempty"`
}

// A CompactedEvent says that a transcript was compacted. To bring messages back, set Retain; to add
// a text, set Inject; then return Modify.
type CompactedEvent struct {
	SessionID string    `json:"session_id"`
	Compacted []Message `json:"messages_being_compacted"`
	Remaining []Message `json:"messages_remaining"`
	Strategy  string    `json:"strategy"`
	Trigger   string    `json:"trigger"`

	Retain []Message `json:"retain,omitempty"`
	Inject string    `json:"inject,omitempty"`
}

// A CommandEvent is a command before or after it runs. Command, Args, Flags and Result can be
// changed.
type CommandEvent struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Flags     map[string]string `json:"flags"`
	Result    json.RawMessage   `json:"result"` // null until the command has run
	Timestamp time.Time         `json:"timestamp"`
}

// Output returns the output of the command: the stdout of a program, or a result that is a text.
func (e *CommandEvent) Output() string {
	text := ""
	if len(e.Result) > 0 && e.Result[0] == '{' {
		_ = members(e.Result, func(key, value []byte) { // the result was checked when the event was read
			if string(key) == "stdout" {
				text = plain(value)
			}
		})
		return text
	}
	return plain(e.Result)
}

// SetOutput replaces what Output returns.
func (e *CommandEvent) SetOutput(text string) {
	quoted := appendString(nil, text)
	if len(e.Result) == 0 || e.Result[0] != '{' {
		e.Result = quoted
		return
	}
	out, found := []byte{'{'}, false
	_ = members(e.Result, func(key, value []byte) { // the result was checked when the event was read
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, string(key)), ':')
		if string(key) == "stdout" {
			value, found = quoted, true
		}
		out = append(out, value...)
	})
	if !found {
		e.Result = quoted
		return
	}
	e.Result = append(out, '}')
}

// A JobEvent is about a scheduled agent. Its config is the plugin's: see [Config].
type JobEvent struct {
	Agent    string `json:"agent"`
	Schedule string `json:"schedule"`
	Event    string `json:"event"`   // preflight, success, attempt_failed, timed_out, given_up, recovered or stale
	Message  string `json:"message"` // for a sink the agent's output, for a notifier a text for people
}
