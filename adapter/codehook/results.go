package codehook

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An outcome is the result of a tool call.
type outcome struct {
	text    string
	success bool
	fault   string
}

// resultOf reads a result from a payload. Without the field success, the call counts as successful.
func resultOf(fields hook.Object) outcome {
	return outcome{text: plain(fields, "result"), success: string(fields.Get("success")) != "false", fault: plain(fields, "error")}
}

// textForModel returns the text for the model: the result, and the error unless the result contains
// it.
func (o outcome) textForModel() string {
	if o.fault == "" || strings.Contains(o.text, o.fault) {
		return o.text
	}
	if o.text == "" {
		return "error: " + o.fault
	}
	return o.text + "\n\nerror: " + o.fault
}

// outcome reads the result of the call from the event.
func (m *Moment) outcome() outcome {
	if m.event.kind == failure {
		fault := m.text("error", "error_message")
		return outcome{text: fault, fault: or(fault, "failed")}
	}
	return m.resultIn()
}

// resultIn reads the result of a call that the agent reports as made. Each agent has its own form.
func (m *Moment) resultIn() outcome {
	switch m.Agent {
	case Gemini, Qwen:
		return llmOutcome(m.data.Get("tool_response"))
	case Copilot:
		return m.copilotOutcome()
	case Cursor:
		return m.cursorOutcome()
	case OpenCode:
		return m.openCodeOutcome()
	case Codex:
		return codexOutcome(m.data.Get("tool_response"))
	default:
		return outcome{text: m.slot().text(m.data.Get("tool_response")), success: true}
	}
}

// replaceable reports whether the result of this tool can be replaced, for agents in which that
// depends on the tool.
func (m *Moment) replaceable() bool {
	if m.Agent == Cursor {
		return strings.HasPrefix(m.call.host, cursorMCP)
	}
	return m.slot().put != nil
}

// A slot is the place of the text in a tool's result object.
type slot struct {
	get func(result raw) (string, bool)
	put func(result raw, text string) raw // returns the whole result with a new text; nil: the result has no place for it
}

// text returns the text of a result, or the result as JSON if it has no place for a text.
func (s slot) text(result raw) string {
	if s.get != nil {
		if text, ok := s.get(result); ok {
			return text
		}
	}
	return textOf(result)
}

// at returns the slot of a field of an object, or of a nested one.
func at(path ...string) slot {
	return slot{
		get: func(result raw) (string, bool) {
			for _, name := range path {
				result = fieldsOf(result).Get(name)
			}
			return rawjson.Unquote(result)
		},
		put: func(result raw, text string) raw { return set(result, path, rawjson.String(text)) },
	}
}

// set returns an object with one field, or one nested field, replaced.
func set(v raw, path []string, value raw) raw {
	if len(path) == 0 {
		return value
	}
	fields := fieldsOf(v)
	return fields.With(hook.Field{Name: path[0], Value: set(fields.Get(path[0]), path[1:], value)}).JSON()
}

// lines returns the slot of a list of texts in a field. Each text is a line.
func lines(name string) slot {
	return slot{
		get: func(result raw) (string, bool) {
			list := fieldsOf(result).Get(name)
			var texts []string
			for _, item := range elements(list) {
				texts = append(texts, textOf(item))
			}
			return strings.Join(texts, "\n"), len(list) > 0 && list[0] == '['
		},
		put: func(result raw, text string) raw {
			var items []raw
			for line := range strings.Lines(text) {
				items = append(items, rawjson.String(strings.TrimSuffix(line, "\n")))
			}
			return set(result, []string{name}, joined(items))
		},
	}
}

// terminal is the slot of commands, whose two texts are joined to one.
var terminal = slot{
	get: func(result raw) (string, bool) {
		fields := fieldsOf(result)
		out, ok := fields.String("stdout")
		err, two := fields.String("stderr")
		if err != "" {
			out = strings.TrimPrefix(out+"\n"+err, "\n")
		}
		return out, ok && (two || fields.Get("stderr") == nil)
	},
	put: func(result raw, text string) raw {
		fields := fieldsOf(result)
		if fields.Get("stderr") != nil {
			fields = fields.With(object("stderr", "")...)
		}
		return fields.With(object("stdout", text)...).JSON()
	},
}

// parts is the slot of a list of contents in the form of MCP. The first text is replaced, the
// others are removed.
var parts = slot{get: partsText, put: putParts}

func partsText(result raw) (string, bool) {
	var texts []string
	for _, item := range elements(result) {
		if text, ok := partText(item); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// partText returns the text of one content: its own, or that of the resource that it embeds. A link
// to a resource is returned as JSON, because its name and its description are texts too. Pictures
// and other data have no text.
func partText(item raw) (text string, ok bool) {
	fields := fieldsOf(item)
	if text, ok = fields.String("text"); ok {
		return text, true
	}
	switch kind, _ := fields.String("type"); kind {
	case "resource":
		return fieldsOf(fields.Get("resource")).String("text")
	case "resource_link":
		return string(item), true
	}
	return "", false
}

func putParts(result raw, text string) raw {
	var out []raw
	placed := false
	for _, item := range elements(result) {
		_, shown := partText(item)
		switch {
		case !shown:
			out = append(out, item)
		case !placed:
			out, placed = append(out, withText(item, text)), true
		}
	}
	if !placed {
		out = append(out, withText(nil, text))
	}
	return joined(out)
}

// withText returns a content with a new text. A content that has no text of its own becomes one.
func withText(item raw, text string) raw {
	fields := fieldsOf(item)
	if _, ok := fields.String("text"); ok {
		return fields.With(object("text", text)...).JSON()
	}
	return object("type", "text", "text", text).JSON()
}

// content is the slot of such a list in the field content. Structured content is part of the text,
// because agents show it to the model; a new text replaces it.
var content = slot{
	get: func(result raw) (string, bool) { return contentText(fieldsOf(result)) },
	put: func(result raw, text string) raw {
		fields := slices.DeleteFunc(fieldsOf(result), func(f hook.Field) bool { return f.Name == structured })
		return fields.With(hook.Field{Name: "content", Value: putParts(fields.Get("content"), text)}).JSON()
	},
}

// structured is the field of a result in which MCP servers repeat it as JSON.
const structured = "structuredContent"

// contentText returns the text of the result of an MCP server. Structured content follows, unless
// it only repeats the text.
func contentText(result hook.Object) (string, bool) {
	text, ok := partsText(result.Get("content"))
	data := result.Get(structured)
	if !ok || rawjson.Missing(data) {
		return text, ok
	}
	if same, err := rawjson.CleanWithin([]byte(text), rawjson.MaxForeign); err == nil && rawjson.Equal(same, rawjson.Clean(data)) {
		return text, true
	}
	return text + "\n" + string(data), true
}
