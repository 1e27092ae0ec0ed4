package codehook

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// OpenCode does not start programs as hooks. A plugin of OpenCode, in JavaScript, talks to a
// process that keeps running. An event is a line
//
//	{"id":1,"event":"tool.execute.before","input":{…,"directory":"/home/ann/shop"},"output":{…}}
//
// and so is the answer. It has the new values of fields of the output, or why the event is denied,
// or neither:
//
//	{"id":1,"output":{"args":{…}}}
//	{"id":1,"deny":"…"}
//	{"id":1}

// openCodeAnswer encodes a wish as a line for OpenCode.
func (m *Moment) openCodeAnswer(w *wish) Answer {
	line := hook.Object{}
	if id := m.line.Get("id"); id != nil {
		line = append(line, hook.Field{Name: "id", Value: id})
	}
	if w.deny != "" {
		return document(append(line, object("deny", w.deny)...))
	}
	if output := m.openCodeOutput(w); len(output) > 0 {
		line = append(line, object("output", output)...)
	}
	return document(line)
}

// openCodeOutput returns the fields of the output that change.
func (m *Moment) openCodeOutput(w *wish) hook.Object {
	switch {
	case w.input != nil:
		return object("args", w.input)
	case w.result != nil && m.listed():
		return object("content", putParts(m.data.Get("content"), *w.result))
	case w.result != nil:
		return m.openCodeResult(*w.result)
	case w.reply != nil:
		return object("text", *w.reply)
	case w.system != nil:
		var texts []raw
		for _, text := range w.system {
			texts = append(texts, rawjson.String(text))
		}
		return object("system", joined(texts))
	case w.message != nil || w.context != "":
		return object("parts", m.openCodeParts(w))
	default:
		return nil
	}
}

// openCodeResult returns the fields that give a result a new text. For a command, OpenCode keeps
// the text a second time, for the screen.
func (m *Moment) openCodeResult(text string) hook.Object {
	out := object("output", text)
	metadata := fieldsOf(m.data.Get("metadata"))
	if _, twice := metadata.String("output"); twice {
		out = append(out, object("metadata", metadata.With(object("output", text)...))...)
	}
	return out
}

// listed reports whether a result is a list, as those of MCP servers' tools are. OpenCode's own
// tools have no list, so a field output beside one is the server's, and the model does not get it.
func (m *Moment) listed() bool {
	_, ok := partsText(m.data.Get("content"))
	return ok
}

// openCodeParts returns the message with its new text, followed by the added context. The context
// is not a separate part, because a part needs an id of OpenCode.
func (m *Moment) openCodeParts(w *wish) raw {
	text := m.Prompt
	if w.message != nil {
		text = *w.message
	}
	if w.context != "" {
		text += "\n\n" + w.context
	}
	var out []raw
	placed := false
	for _, part := range elements(m.data.Get("parts")) {
		fields := fieldsOf(part)
		switch {
		case !spoken(fields):
			out = append(out, part)
		case !placed:
			out, placed = append(out, fields.With(object("text", text)...).JSON()), true
		}
	}
	return joined(out)
}

// spoken reports whether the user wrote this part of a message, and not OpenCode.
func spoken(part hook.Object) bool {
	kind, _ := part.String("type")
	return kind == "text" && string(part.Get("synthetic")) != "true"
}

// openCodeMessage returns what the user wrote.
func (m *Moment) openCodeMessage() string {
	var texts []string
	for _, part := range elements(m.data.Get("parts")) {
		if fields := fieldsOf(part); spoken(fields) {
			texts = append(texts, plain(fields, "text"))
		}
	}
	return strings.Join(texts, "\n\n")
}

// outputs lists the fields that only an output has.
var outputs = []string{"text", "system", "parts", "output", "content", "metadata", "isError"}

// isOutput reports whether a field belongs to the output of the event. Everything else about a call
// is in the input.
func (m *Moment) isOutput(f hook.Field) bool {
	return slices.Contains(outputs, f.Name) || f.Name == "args" && m.Event == "tool.execute.before"
}

// unwrap takes the event out of OpenCode's line, and merges its input and output: no name has two
// meanings in them. Other fields of the output are left out. The output of a tool is what an MCP
// server has answered, and with a field such as tool or directory that server would decide whether
// plugins are called, and which. An event that comes through OpenCode's hook `event` gets its own
// name.
func (m *Moment) unwrap() {
	if m.Agent != OpenCode {
		return
	}
	m.line = m.data
	if m.Event == "" {
		m.Event = plain(m.line, "event")
	}
	input := fieldsOf(m.line.Get("input"))
	if m.Event == "event" {
		told := fieldsOf(input.Get("event"))
		m.Event, input = or(plain(told, "type"), m.Event), fieldsOf(told.Get("properties"))
	}
	input = slices.DeleteFunc(input, m.isOutput)
	output := slices.DeleteFunc(fieldsOf(m.line.Get("output")), func(f hook.Field) bool { return !m.isOutput(f) })
	m.data = input.With(output...)
	if info := fieldsOf(input.Get("info")); plain(info, "id") != "" && !m.has("sessionID") {
		m.data = append(m.data, object("sessionID", plain(info, "id"))...)
		for _, name := range []string{"directory", "parentID"} {
			if v := plain(info, name); v != "" {
				m.data = m.data.With(object(name, v)...)
			}
		}
	}
}

// openCodeSilent reports whether no plugin is called about an event of OpenCode: a prompt for a
// title, a session of a subagent, or the end of a session that has no id.
func (m *Moment) openCodeSilent() bool {
	switch m.event.kind {
	case system:
		prompt := first(m.data.Get("system"))
		return prompt == "" || strings.HasPrefix(prompt, "You are a title generator")
	case sessionStart:
		return m.text("parentID") != ""
	case sessionEnd:
		return m.Session == ""
	default:
		return false
	}
}

// openCodeOutcome reads a result: a text for OpenCode's own tools, a list for tools of MCP servers.
func (m *Moment) openCodeOutcome() outcome {
	text := plain(m.data, "output")
	if m.listed() {
		parts, _ := partsText(m.data.Get("content"))
		return outcome{text: parts, success: string(m.data.Get("isError")) != "true"}
	}
	exit := string(fieldsOf(m.data.Get("metadata")).Get("exit"))
	if exit == "" || exit == "0" || exit == "null" {
		return outcome{text: text, success: true}
	}
	return outcome{text: text, fault: "exit status " + exit}
}
