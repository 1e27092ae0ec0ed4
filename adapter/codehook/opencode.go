package codehook

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// OpenCode has no hooks that are programs: a plugin of its own, in JavaScript, asks a process that
// stays. An event is a line
//
//	{"id":1,"event":"tool.execute.before","input":{…,"directory":"/home/ann/shop"},"output":{…}}
//
// and so is the answer: what is to become of the output's fields, each whole; or why the event is
// denied; or nothing of both:
//
//	{"id":1,"output":{"args":{…}}}
//	{"id":1,"deny":"…"}
//	{"id":1}

// openCodeAnswer puts a wish into an answering line.
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

// openCodeOutput are the fields of the output that change.
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

// openCodeResult is another text of a result. Of a command OpenCode keeps it a second time, for the
// screen.
func (m *Moment) openCodeResult(text string) hook.Object {
	out := object("output", text)
	metadata := fieldsOf(m.data.Get("metadata"))
	if _, twice := metadata.String("output"); twice {
		out = append(out, object("metadata", metadata.With(object("output", text)...))...)
	}
	return out
}

// listed tells whether a result is a list, as those of tools of MCP servers are.
func (m *Moment) listed() bool {
	_, ok := partsText(m.data.Get("content"))
	return ok && !m.has("output")
}

// openCodeParts is the message with another text, and with what plugins added behind it. A part of
// its own would need an id of OpenCode's.
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

// spoken tells whether a part of a message is what the user said, and not what OpenCode put beside
// it.
func spoken(part hook.Object) bool {
	kind, _ := part.String("type")
	return kind == "text" && string(part.Get("synthetic")) != "true"
}

// openCodeMessage is what the user said.
func (m *Moment) openCodeMessage() string {
	var texts []string
	for _, part := range elements(m.data.Get("parts")) {
		if fields := fieldsOf(part); spoken(fields) {
			texts = append(texts, plain(fields, "text"))
		}
	}
	return strings.Join(texts, "\n\n")
}

// outputs are the fields that only an output has, and that can be changed there.
var outputs = []string{"text", "system", "parts", "output", "content", "metadata"}

// unwrap takes the event out of OpenCode's line. Input and output share no name that means two
// things. What comes through OpenCode's hook `event` is an event by its own name.
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
	input = slices.DeleteFunc(input, func(f hook.Field) bool {
		return slices.Contains(outputs, f.Name) || f.Name == "args" && m.Event == "tool.execute.before"
	})
	m.data = input.With(fieldsOf(m.line.Get("output"))...)
	if info := fieldsOf(input.Get("info")); plain(info, "id") != "" && !m.has("sessionID") {
		m.data = append(m.data, object("sessionID", plain(info, "id"))...)
		for _, name := range []string{"directory", "parentID"} {
			if v := plain(info, name); v != "" {
				m.data = m.data.With(object(name, v)...)
			}
		}
	}
}

// openCodeSilent tells the events of OpenCode that nobody is asked about: the making of titles,
// sessions of subagents, and an end that is nobody's.
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

// openCodeOutcome is a result: of its own tools a text, of those of MCP servers a list.
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
