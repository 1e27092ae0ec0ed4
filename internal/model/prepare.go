package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A prepared request is one that every provider takes, whatever plugins, a compaction or an
// interrupted turn made of the conversation:
//
//   - turns alternate, begin with the user's and end with the user's;
//   - each tool call is answered, once, at the beginning of the next turn;
//   - nothing is empty; names and ids have letters that providers allow.
//
// The providers turn it into their own types and judge nothing.
type prepared struct {
	system    string
	turns     []turn
	tools     []Tool // under their names on the wire, schemas mended
	maxTokens int    // 0: whatever the server thinks fit

	names toolNames
	ids   callIDs // of the conversation, as it stands in the transcript
}

// A turn is all that one side says before the other does.
type turn struct {
	role    Role     // User or Assistant
	answers []answer // the user's: to the calls of the turn before
	texts   []text
	calls   []ToolCall // the assistant's: ids and names as on the wire
}

// An answer is the result of a tool call.
type answer struct {
	id      string // on the wire
	content string
	failed  bool
}

// A text is a piece of what was said; in a user's turn there may be a plugin's among them, with the
// role System.
type text struct {
	role    Role
	content string
}

// What stands in for things that a provider needs and a conversation lacks.
const (
	noResult    = "(no result: the call was interrupted)"
	noOutput    = "(no output)"
	noBeginning = "(The beginning of the conversation is not shown.)"
	goOn        = "(Go on.)"
)

var errNothingSaid = errors.New("there is no message to reply to")

// prepare makes a request ready to be sent. Where the provider knows system messages inside a
// conversation (native), they stay apart; elsewhere they are the user's, in <system> tags, because
// the place where a plugin spoke up matters, and because the system prompt above stays as it is and
// so in the provider's cache.
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

// An arranger puts messages into turns.
type arranger struct {
	p       *prepared
	native  bool
	open    map[string][]place // calls without an answer so far, by their id in the transcript
	sentIDs callIDs            // ids on the wire
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

// injected takes a system message. Before anybody spoke it belongs to the prompt.
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

// say adds to the turn of a side, which may be a new one.
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

// assistant takes a message of the model's. Its calls get the turn in which their answers will be,
// each with a stand-in until its answer comes.
func (a *arranger) assistant(m Message) {
	content := strings.TrimSpace(m.Content)
	if content == "" && len(m.ToolCalls) == 0 {
		return // a reply of nothing, or one that a plugin emptied
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

// answer puts a result where its call waits for it. One that no call waits for, because it was
// compacted away, is told as a text.
func (a *arranger) answer(m Message) {
	content := m.Content
	if strings.TrimSpace(content) == "" {
		content = noOutput
	}
	places := a.open[m.ToolCallID]
	if len(places) == 0 {
		a.say(User, text{User, fmt.Sprintf("(An earlier call of the tool %q came to this:)\n%s", cut(m.Name), content)})
		return
	}
	a.open[m.ToolCallID] = places[1:]
	waiting := &a.p.turns[places[0].turn].answers[places[0].answer]
	waiting.content, waiting.failed = content, m.Failed
}

// sendable are a call's arguments as providers take them back: always an object.
func sendable(c ToolCall) json.RawMessage {
	if object, ok := asObject(string(c.Arguments)); ok {
		return object
	}
	return emptyObject
}

// prepareTools names the tools and mends their schemas. Of two with one name the first stays: the
// providers refuse both.
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

// objectSchema makes sure that a schema is one of an object and says so: the providers want type
// and properties, even where there are none.
func objectSchema(schema json.RawMessage) json.RawMessage {
	o, err := rawjson.Parse(schema)
	if err != nil {
		o = nil
	}
	if o.Get("type") == nil {
		o = o.With(rawjson.Field{Name: "type", Value: json.RawMessage(`"object"`)})
	}
	if p := o.Get("properties"); p == nil || string(p) == "null" {
		o = o.With(rawjson.Field{Name: "properties", Value: emptyObject})
	}
	return o.JSON()
}
