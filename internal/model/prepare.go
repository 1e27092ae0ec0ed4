package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A prepared is a request that every provider accepts, even if plugins, a compaction or an
// interrupted turn made the conversation irregular:
//
//   - turns alternate, and the first and the last are the user's;
//   - each tool call has one answer, at the beginning of the next turn;
//   - nothing is empty, and names and ids have only characters that providers allow.
//
// The providers convert it to their own types and check nothing.
type prepared struct {
	system    string
	turns     []turn
	tools     []Tool // with the names of requests and repaired schemas
	maxTokens int    // 0: the server's default

	names toolNames
	ids   callIDs // of the conversation, as in the transcript
}

// A turn is everything that one side says before the other.
type turn struct {
	role    Role     // User or Assistant
	answers []answer // of the user: answers to the calls of the turn before
	texts   []text
	calls   []ToolCall // of the assistant: with the ids and names of requests
}

// An answer is the result of a tool call.
type answer struct {
	id      string // the id in requests
	content string
	failed  bool
}

// A text is one piece of text. A user's turn may contain texts of plugins, with the role System.
type text struct {
	role    Role
	content string
}

// Texts that replace parts that a provider requires and a conversation lacks.
const (
	noResult    = "(no result: the call was interrupted)"
	noOutput    = "(no output)"
	noBeginning = "(The beginning of the conversation is not shown.)"
	goOn        = "(Go on.)"
)

var errNothingSaid = errors.New("there is no message to reply to")

// prepare makes a request ready to be sent. If the provider supports system messages inside a
// conversation (native), they stay separate. Otherwise they become texts of the user in <system>
// tags. They are not moved to the system prompt, because their place matters, and because a changed
// prompt would not be in the provider's cache.
func prepare(req *Request, native bool) (*prepared, error) {
	p := &prepared{
		system: strings.TrimSpace(req.System), maxTokens: max(req.MaxTokens, 0),
		names: nameTools(req), ids: make(callIDs),
	}
	p.tools = prepareTools(req.Tools, p.names)
	a := arranger{p: p, native: native, open: make(map[string][]place), sentIDs: make(callIDs)}
	for _, m := range req.Messages {
		a.add(m)
	}
	if len(p.turns) == 0 {
		return nil, errNothingSaid
	}
	if p.turns[0].role == Assistant {
		p.turns = append([]turn{{role: User, texts: []text{{User, noBeginning}}}}, p.turns...)
	}
	if p.turns[len(p.turns)-1].role == Assistant {
		p.turns = append(p.turns, turn{role: User, texts: []text{{User, goOn}}})
	}
	return p, nil
}

// An arranger sorts messages into turns.
type arranger struct {
	p       *prepared
	native  bool
	open    map[string][]place // calls without an answer so far, by their id in the transcript
	sentIDs callIDs            // the ids in requests
}

// A place is where the answer to a call belongs.
type place struct{ turn, answer int }

func (a *arranger) add(m Message) {
	blank := strings.TrimSpace(m.Content) == ""
	switch {
	case m.Role == ToolRole:
		a.answer(m)
	case m.Role == Assistant:
		a.assistant(m)
	case blank:
	case m.Role == System:
		a.injected(m.Content)
	default:
		a.say(User, text{User, m.Content})
	}
}

// injected adds a system message. Before the first turn it belongs to the prompt.
func (a *arranger) injected(content string) {
	switch {
	case len(a.p.turns) == 0:
		a.p.system = strings.TrimSpace(a.p.system + "\n\n" + content)
	case a.native:
		a.say(User, text{System, content})
	default:
		a.say(User, text{User, "<system>\n" + content + "\n</system>"})
	}
}

// say adds a text to the turn of a side, and begins a new turn if necessary.
func (a *arranger) say(role Role, t text) *turn {
	last := len(a.p.turns) - 1
	if last < 0 || a.p.turns[last].role != role {
		a.p.turns = append(a.p.turns, turn{role: role})
		last++
	}
	if t.content != "" {
		a.p.turns[last].texts = append(a.p.turns[last].texts, t)
	}
	return &a.p.turns[last]
}

// assistant adds a message of the model. Its calls get a turn for their answers, with a placeholder
// for each until its answer comes.
func (a *arranger) assistant(m Message) {
	content := strings.TrimSpace(m.Content)
	if content == "" && len(m.ToolCalls) == 0 {
		return // an empty reply, or one that a plugin emptied
	}
	t := a.say(Assistant, text{Assistant, content})
	answers := turn{role: User}
	for _, c := range m.ToolCalls {
		id := a.sentIDs.fresh(legal(c.ID, maxID))
		a.p.ids[c.ID] = true
		a.open[c.ID] = append(a.open[c.ID], place{len(a.p.turns), len(answers.answers)})
		answers.answers = append(answers.answers, answer{id: id, content: noResult, failed: true})
		t.calls = append(t.calls, ToolCall{ID: id, Name: a.p.names.sent[c.Name], Arguments: sendable(c)})
	}
	if len(answers.answers) > 0 {
		a.p.turns = append(a.p.turns, answers)
	}
}

// answer puts a result into the place for its call. If there is no such place, because the call was
// compacted away, the result becomes a text.
func (a *arranger) answer(m Message) {
	content := m.Content
	if strings.TrimSpace(content) == "" {
		content = noOutput
	}
	places := a.open[m.ToolCallID]
	if len(places) == 0 {
		a.say(User, text{User, fmt.Sprintf("(The result of an earlier call of the tool %q:)\n%s", cut(m.Name), content)})
		return
	}
	a.open[m.ToolCallID] = places[1:]
	waiting := &a.p.turns[places[0].turn].answers[places[0].answer]
	waiting.content, waiting.failed = content, m.Failed
}

// sendable returns a call's arguments in the form that providers accept: always an object.
func sendable(c ToolCall) json.RawMessage {
	if object, ok := asObject(string(c.Arguments)); ok {
		return object
	}
	return emptyObject
}

// prepareTools names the tools and repairs their schemas. Of two tools with one name it keeps the
// first, because providers refuse a request with both.
func prepareTools(tools []Tool, names toolNames) []Tool {
	seen := make(map[string]bool, len(tools))
	var out []Tool
	for _, t := range tools {
		if seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		out = append(out, Tool{Name: names.sent[t.Name], Description: t.Description, Parameters: objectSchema(t.Parameters)})
	}
	return out
}

// objectSchema makes sure that a schema describes an object: providers require type and properties,
// even if they are empty.
func objectSchema(schema json.RawMessage) json.RawMessage {
	o, err := rawjson.Parse(schema)
	if err != nil {
		o = nil
	}
	if o.Get("type") == nil {
		o = o.With(rawjson.Field{Name: "type", Value: json.RawMessage(`"object"`)})
	}
	if p := o.Get("properties"); rawjson.Missing(p) {
		o = o.With(rawjson.Field{Name: "properties", Value: emptyObject})
	}
	return o.JSON()
}
