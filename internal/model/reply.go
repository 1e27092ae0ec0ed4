package model

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// maxCalls limits the tool calls of one reply.
const maxCalls = 256

var errManyCalls = errors.New("the reply has too many tool calls")

var emptyObject = json.RawMessage(`{}`)

// A reply collects the response of one try. It belongs to the goroutine that called Reply.
type reply struct {
	stream func(Delta)
	names  toolNames
	ids    callIDs // of the conversation and of this reply; a copy

	text  strings.Builder
	calls []*growingCall
	stop  StopReason
	usage Usage

	ended  bool // the provider said that the reply is complete
	closed bool // and that nothing of interest follows
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

// paragraph separates the following text from the text before.
func (r *reply) paragraph() {
	if r.text.Len() > 0 && !strings.HasSuffix(r.text.String(), "\n") {
		r.addText("\n\n")
	}
}

// call returns the call with the provider's number, and begins a new one if there is none. Some
// servers number all calls 0 and distinguish them by their ids.
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

// named sets the name of a call, and tells the listener once.
func (r *reply) named(c *growingCall, name string) {
	if c.announced || name == "" {
		return
	}
	c.name, c.announced = r.names.ours(name), true
	r.stream(Delta{ToolCall: c.name})
}

// end marks the reply as complete.
func (r *reply) end(why StopReason) { r.stop, r.ended = why, true }

// response returns the complete reply.
func (r *reply) response() *Response {
	out := &Response{Text: r.text.String(), Stop: r.stop, Usage: r.usage}
	for _, c := range r.calls {
		out.ToolCalls = append(out.ToolCalls, c.done(r.ids))
	}
	switch { // some servers send stop although they call tools, or the reverse
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

// asObject returns the arguments of a call as a JSON object. For a tool without parameters models
// write nothing, or null.
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

// Problem returns the answer to a malformed call for the model, or "" if the call is well formed.
func (c ToolCall) Problem() string {
	if c.Malformed == "" {
		return ""
	}
	return "The tool was not called: its arguments must be one JSON object, and these are not: " + cut(c.Malformed)
}
