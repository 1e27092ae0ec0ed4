package adapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// WithArguments returns a call with arguments that plugins may have changed. No arguments become an
// empty object, and a string that contains JSON becomes that JSON. If the result is not an object,
// the call is malformed, as if the model had written it so. WithArguments removes needless escapes
// from strings: with them a model could hide a word from plugins that do not decode JSON.
func WithArguments(c model.ToolCall, raw json.RawMessage) model.ToolCall {
	if o, err := rawjson.Parse(raw); err == nil {
		c.Arguments = rawjson.Requote(o.JSON())
		return c
	}
	c.Arguments = json.RawMessage("{}")
	if rawjson.Missing(raw) {
		return c
	}
	text, ok := rawjson.Unquote(raw)
	if !ok {
		text = string(raw)
	}
	if strings.TrimSpace(text) == "" {
		return c
	}
	o, err := rawjson.Parse([]byte(text))
	if err != nil {
		c.Malformed = text
		return c
	}
	c.Arguments = rawjson.Requote(o.JSON())
	return c
}

// find returns the tool with a name. If there is none, fault says so, for the model.
func find(tools []Tool, name string) (tool *Tool, fault string) {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i], ""
		}
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	slices.Sort(names)
	fault = fmt.Sprintf("there is no tool %.80q", name)
	if hint := nearest.Suggest(name, names); hint != "" {
		fault += ": " + hint
	}
	return nil, fault
}

// misfit returns why a tool cannot take the arguments of a call, for the model, or "" if it can.
func misfit(t *Tool, c model.ToolCall) string {
	if c.Malformed != "" {
		return c.Problem()
	}
	errs := schema.Misfits(t.Parameters, c.Arguments)
	if len(errs) == 0 {
		return ""
	}
	texts := make([]string, len(errs))
	for i, e := range errs {
		texts[i] = e.In("arguments")
	}
	return "the arguments do not fit: " + strings.Join(texts, "; ")
}
