package codehook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// errTooLong is returned for an event that is longer than MaxInput.
var errTooLong = errors.New("the event is too long")

// Parse reads an event. For an unknown event no plugin is called, and unknown fields are ignored.
// Parse fails if the data is not an event. Then the right answer is [NoOpinion], unless a plugin
// must agree to the event.
func Parse(in Input) (*Moment, error) {
	if !in.Agent.Known() {
		return nil, fmt.Errorf("there is no agent %.40q: there are %s", in.Agent, list(Agents()))
	}
	if len(in.Data) > MaxInput {
		return nil, fmt.Errorf("%s: %w: it has %d bytes, and the limit is %d", in.Agent, errTooLong, len(in.Data), MaxInput)
	}
	data, err := rawjson.ParseForeign(in.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: the event is not a JSON object: %w", in.Agent, err)
	}
	m := &Moment{Agent: in.Agent, Event: in.Event, data: data}
	m.unwrap()
	if m.Event == "" {
		m.Event = m.name()
	}
	if m.Event == "" {
		return nil, fmt.Errorf("%s: the event does not say its name: pass it with --event", in.Agent)
	}
	m.event = lookup(in.Agent, m.Event)
	m.read(in)
	m.alien = m.foreign(in.Environ)
	if lacks := m.lacks(); lacks != "" && !m.alien {
		return nil, fmt.Errorf("%s: the event %s has no %s", in.Agent, m.Event, lacks)
	}
	if m.call != nil && m.call.fault != nil && !m.alien {
		return nil, fmt.Errorf("%s: %w", in.Agent, m.call.fault)
	}
	if m.alien || m.empty() {
		m.event = event{name: m.Event, timeout: m.event.timeout}
		m.Begins, m.Ends = false, false
	}
	return m, nil
}

// IsOdd reports whether [Parse] failed because the event is nested too deep, or has two values for
// one field. Only arguments that a model chose make an event so odd. If such an event were let
// through, a model could keep plugins from being called.
func IsOdd(err error) bool {
	_, deep := errors.AsType[*rawjson.DepthError](err)
	_, repeated := errors.AsType[*rawjson.RepeatError](err)
	return deep || repeated
}

// Placeholder returns an event in the place of one that [Parse] refused, so that it can be
// answered. It has the name of that event and, in a line of OpenCode, the id; its other fields are
// made up.
func Placeholder(in Input) (*Moment, error) {
	head := beginning(in.Data)
	data := object("tool_name", "unknown", "toolName", "unknown", "prompt", "unknown", "hook_event_name", (&Moment{data: head}).name())
	if in.Agent == OpenCode {
		data = append(head, object("input", object("tool", "unknown"),
			"output", object("parts", raw(`[{"type":"text","text":"unknown"}]`), "system", raw(`["unknown"]`)))...)
	}
	return Parse(Input{Agent: in.Agent, Event: in.Event, Data: data.JSON(), Dir: in.Dir, Environ: map[string]string{}})
}

// beginning returns the fields of an event that say which event it is. The event may be nested too
// deep, or cut off behind these fields.
func beginning(data []byte) hook.Object {
	var head hook.Object
	for c := rawjson.FieldsWithin(data, rawjson.Space(data, 0), len(data)); c.Next(); {
		if slices.Contains([]string{"id", "event", "hook_event_name", "hookName"}, c.Name) {
			head = head.With(hook.Field{Name: c.Name, Value: c.Value.Clean(data)})
		}
	}
	return head
}

func (m *Moment) name() string { return m.text("hook_event_name", "hookName") }

// read reads the fields that several agents have. Agents use different names for the same thing,
// but no agent uses one of these names for another thing.
func (m *Moment) read(in Input) {
	m.Session = m.text("session_id", "sessionId", "sessionID", "conversation_id")
	m.Request = m.text("prompt_id", "turn_id", "generation_id")
	if m.Request == m.Session {
		m.Request = "" // it does not distinguish turns
	}
	m.CallID = m.text("tool_use_id", "callID")
	m.Dir = or(m.text("cwd", "directory"), first(m.data.Get("workspace_roots")), in.Dir)
	m.Root = or(m.text("worktree"), first(m.data.Get("workspace_roots")), in.Environ[rootVariable[m.Agent]], m.Dir)
	m.Begins, m.Ends, m.Last = m.event.kind == prompt, m.event.kind == stop, m.event.kind == sessionEnd
	switch m.event.kind {
	case prompt:
		m.Prompt = m.message()
		m.UserText = m.Prompt
	case before, after, failure:
		m.call = m.readCall()
	}
	if m.UserText == "" {
		m.UserText = m.text("prompt", "initial_prompt", "initialPrompt")
	}
}

// rootVariable is the variable in which an agent sets the root of the project.
var rootVariable = map[Agent]string{Claude: "CLAUDE_PROJECT_DIR", Gemini: "GEMINI_PROJECT_DIR", Cursor: "CURSOR_PROJECT_DIR"}

// lacks returns the field without which an event is not the one that its name says, or "". A later
// version of an agent may rename the field. Then Parse fails, so that plugins are not silently
// skipped.
func (m *Moment) lacks() string {
	switch m.event.kind {
	case prompt:
		switch prompt := m.data.Get("prompt"); {
		case m.Agent == OpenCode && !m.hasList("parts"):
			return "list of parts"
		case m.Agent != OpenCode && prompt == nil:
			return "prompt"
		case m.Agent != OpenCode && !rawjson.Missing(prompt) && prompt[0] != '"':
			return "prompt that is a text"
		}
	case before, after:
		if m.call.host == "" {
			return "name of a tool"
		}
	}
	return ""
}

// empty reports whether an event needs no plugin. Qwen Code sends an empty prompt after each tool,
// and agents stream replies in pieces, some of which have no text.
func (m *Moment) empty() bool {
	switch m.event.kind {
	case prompt:
		return strings.TrimSpace(m.Prompt) == ""
	case before, after, failure:
		return m.call.host == "" || m.text("failure_type") == "permission_denied" // our own denial comes back as a failure
	case reply:
		return m.replyText() == ""
	case stop:
		if m.answer() == "" { // a turn without an answer is over too
			m.event.points = []hook.Point{hook.TurnDone}
		}
	case compactBefore:
		return m.event.matcher != "" && m.text("trigger") != m.event.matcher
	}
	return m.Agent == OpenCode && m.openCodeSilent()
}

// replyText returns the text of the model's reply.
func (m *Moment) replyText() string {
	if m.Agent == Gemini {
		return m.geminiText()
	}
	return m.text("text")
}

// foreign reports whether another agent sent this event to a hook of Claude Code: Cursor and
// Copilot CLI also read the settings of Claude Code. They have their own hooks, so the event would
// be fired twice.
func (m *Moment) foreign(environ map[string]string) bool {
	if m.Agent != Claude {
		return false
	}
	transcript := m.text("transcript_path")
	cursor := m.has("cursor_version") || environ["CURSOR_VERSION"] != "" && transcript == ""
	copilot := m.has("timestamp") && (transcript == "" || strings.Contains(transcript, ".copilot")) // Claude Code always sends the path of its transcript
	return cursor || copilot
}

func (m *Moment) has(name string) bool { return m.data.Get(name) != nil }

func (m *Moment) hasList(name string) bool {
	v := m.data.Get(name)
	return len(v) > 0 && v[0] == '['
}

// text returns the first of these fields that is a non-empty string.
func (m *Moment) text(names ...string) string {
	for _, name := range names {
		if s, ok := m.data.String(name); ok && s != "" {
			return s
		}
	}
	return ""
}

// value returns the first of these fields that is not missing.
func (m *Moment) value(names ...string) raw {
	for _, name := range names {
		if v := m.data.Get(name); !rawjson.Missing(v) {
			return v
		}
	}
	return nil
}

// message returns what the user wrote.
func (m *Moment) message() string {
	switch m.Agent {
	case OpenCode:
		return m.openCodeMessage()
	case Gemini:
		return withoutContext(m.text("prompt"))
	default:
		return m.text("prompt")
	}
}

// answer returns the last message of the agent in a turn that ends.
func (m *Moment) answer() string { return m.text("last_assistant_message", "prompt_response") }

// first returns the first string of a list.
func first(list raw) string {
	items := elements(list)
	if len(items) == 0 {
		return ""
	}
	s, _ := rawjson.Unquote(items[0])
	return s
}

// or returns the first text that is not empty.
func or(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func list[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}
