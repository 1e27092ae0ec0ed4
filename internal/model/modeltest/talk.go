package modeltest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Result is the result of a tool call in a request.
type Result struct {
	ID   string // of the call
	Text string // all its texts, one line each
}

// places says which objects in a request are results of tool calls, for each format.
var places = map[Format]struct {
	// An object is a result if its field with the name kind has this value. If value is "", the
	// object in that field is the result.
	kind, value string
	id          string
	text        string
}{
	Messages:        {"type", "tool_result", "tool_use_id", "content"},
	ChatCompletions: {"role", "tool", "tool_call_id", "content"},
	Responses:       {"type", "function_call_output", "call_id", "output"},
	GenerateContent: {"functionResponse", "", "id", "response"},
}

// Results returns the results of tool calls in the request, in order.
func (r Request) Results() []Result {
	place := places[r.Format]
	var results []Result
	r.walk(func(o map[string]any) {
		if place.value == "" {
			o, _ = o[place.kind].(map[string]any)
		} else if o[place.kind] != place.value {
			o = nil
		}
		if o == nil {
			return
		}
		id, _ := o[place.id].(string) // not every client sends it back
		results = append(results, Result{ID: id, Text: strings.Join(texts(o[place.text]), "\n")})
	})
	return results
}

// OffersTools reports whether the model may call tools. Agents also ask for titles and summaries,
// without tools.
func (r Request) OffersTools() bool {
	var body struct {
		Tools []json.RawMessage `json:"tools"`
	}
	return json.Unmarshal(r.Body, &body) == nil && len(body.Tools) > 0
}

// Says reports whether a string anywhere in the request contains text.
func (r Request) Says(text string) bool {
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		return false
	}
	for _, s := range texts(body) {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}

// walk calls f with every object in the request: outer objects first, lists in order.
func (r Request) walk(f func(map[string]any)) {
	var body any
	if json.Unmarshal(r.Body, &body) == nil {
		walk(body, f)
	}
}

func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], f)
		}
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	}
}

// texts returns the strings in a value in order, without those that name its type.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "type" { // names the kind of a part
				all = append(all, texts(v[name])...)
			}
		}
	}
	return all
}
