package model

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// maxCalls bounds the tool calls of one reply.
const maxCalls = 256

var errManyCalls = errors.New("the reply has too many tool calls")

var emptyObject = json.RawMessage(`{}`)

// A reply is a response in the making: one try. It belongs to the goroutine that called Reply.
type reply struct {
	stream func(Delta)
	names  toolNames
	ids    callIDs // of the conversation and of this reply; a copy

	text  strings.Builder
	calls []*growingCall
	stop  StopReason
	usage Usage

	ended  bool // the provider said that it is whole
	closed bool // and that nothing follows which we want to hear
}

// A growingCall is a tool call whose arguments are still coming.
type growingCall struct {
	index     int64 // the provider's number for it
	id        string
	name      string
	announced bool
	arguments strings.Builder
}

func newReply(p *prepared, stream func(Delta)) *reply {
	ids := make(callIDs, len(p.ids))
	for id := range p.ids {
		ids[id] = true
	}
	return &reply{stream: stream, names: p.names, ids: ids}
}

// addText adds to the text.
func (r *reply) addText(text string) {
	if text == "" {
		return
	}
	r.text.WriteString(text)
	r.stream(Delta{Text: text})
}

// paragraph sets what follows apart from what was said.
func (r *reply) paragraph() {
	if r.text.Len() > 0 && !strings.HasSuffix(r.text.String(), "\n") {
		r.addText("\n\n")
	}
}

// call is the call with the provider's number, begun where there is none. Some servers number all
// calls 0 and tell them apart by their ids.
func (r *reply) call(index int64, id string) (*growingCall, error) {
	for i := len(r.calls) - 1; i >= 0; i-- {
		if c := r.calls[i]; c.index == index {
			if id == "" || c.id == "" || id == c.id {
				return c, nil
			}
			break
		}
	}
	if len(r.calls) == maxCalls {
		return nil, errManyCalls
	}
	c := &growingCall{index: index, id: id}
	r.calls = append(r.calls, c)
	return c, nil
}

// named gives a call its name, and tells the listener once.
func (r *reply) named(c *growingCall, name string) {
	if c.announced || name == "" {
		return
	}
	c.name, c.announced = r.names.ours(name), true
	r.stream(Delta{ToolCall: c.name})
}

// end says that the reply is whole.
func (r *reply) end(why StopReason) { r.stop, r.ended = why, true }

// response is the whole reply.
func (r *reply) response() *Response {
	out := &Response{Text: r.text.String(), Stop: r.stop, Usage: r.usage}
	for _, c := range r.calls {
		out.ToolCalls = append(out.ToolCalls, c.done(r.ids))
	}
	switch { // some servers say stop where they call tools, and the reverse
	case len(out.ToolCalls) > 0 && out.Stop == StopEnd:
		out.Stop = StopTools
	case len(out.ToolCalls) == 0 && out.Stop == StopTools:
		out.Stop = StopEnd
	}
	return out
}

func (c *growingCall) done(ids callIDs) ToolCall {
	call := ToolCall{ID: ids.fresh(c.id), Name: c.name, Arguments: emptyObject}
	switch object, ok := asObject(c.arguments.String()); {
	case ok:
		call.Arguments = object
	default:
		call.Malformed = c.arguments.String()
	}
	return call
}

// asObject is the text of a call's arguments as a JSON object. Models write nothing at all, or
// null, for a tool without parameters.
func asObject(s string) (json.RawMessage, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s == "null" {
		return emptyObject, true
	}
	if s[0] != '{' || rawjson.Check([]byte(s)) != nil {
		return nil, false
	}
	return rawjson.Clean([]byte(s)), true
}

// Problem is what to tell the model about a malformed call; "": it is well formed.
func (c ToolCall) Problem() string {
	if c.Malformed == "" {
		return ""
	}
	return "The tool was not called: its arguments must be one JSON object, and these are not: " + cut(c.Malformed)
}
