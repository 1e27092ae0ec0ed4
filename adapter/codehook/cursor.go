package codehook

import (
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// cursorAnswer encodes a wish for Cursor. It always prints an object: Cursor treats no output as a
// failure, and output that is not JSON as a denial.
func (m *Moment) cursorAnswer(w *wish) Answer {
	switch {
	case w.deny != "" && m.event.kind == before:
		return document(object("permission", "deny", "user_message", w.deny, "agent_message", w.deny))
	case w.deny != "":
		return document(object("continue", false, "user_message", w.deny))
	case w.input != nil:
		return document(object("updated_input", w.input))
	case w.result != nil:
		return document(object("updated_mcp_tool_output", *w.result))
	case w.context != "":
		return document(object("additional_context", w.context))
	default:
		return document(nil)
	}
}

// cursorMCP is the prefix of the names of tools of MCP servers.
const cursorMCP = "MCP:"

// cursorFields lists the fields of each tool's input that Cursor takes from a new input. It ignores
// all other fields, and accepts no new input for tools that are not listed.
var cursorFields = map[string][]string{
	"Shell": {"command", "cwd", "timeout"}, "Read": {"file_path"}, "Write": {"file_path"}, "Delete": {"file_path"}, "ReadLints": {"file_path"},
	"LS": {"file_path"}, "Grep": {"pattern", "file_path"}, "Fetch": {"url"}, "WebFetch": {"url"},
}

// cursorTimeout is the only field that a plugin may leave out of a new input. Cursor sends it with
// each command, and a plugin that writes a new command does not know it. Keeping the old timeout
// does not change the command.
const cursorTimeout = "timeout"

// cursorRuns reports whether Cursor accepts every difference between two inputs.
func cursorRuns(tool string, was, now raw) bool {
	old, changed := fieldsOf(was), fieldsOf(now)
	if slices.ContainsFunc(old, func(f hook.Field) bool { return f.Name != cursorTimeout && changed.Get(f.Name) == nil }) {
		return false // Cursor would keep the old value of a field that is left out
	}
	return !slices.ContainsFunc(changed, func(f hook.Field) bool {
		before := old.Get(f.Name)
		same := before != nil && rawjson.Equal(before, f.Value)
		return !same && !strings.HasPrefix(tool, cursorMCP) && !slices.Contains(cursorFields[tool], f.Name)
	})
}

// cursorOutcome reads a result, which is JSON in a string.
func (m *Moment) cursorOutcome() outcome {
	text := plain(m.data, "tool_output")
	fields := fieldsOf(raw(text))
	if parts, ok := contentText(fields); ok {
		return outcome{text: parts, success: string(fields.Get("isError")) != "true"}
	}
	output, ok := fields.String("output")
	if !ok {
		return outcome{text: text, success: true}
	}
	exit := string(fields.Get("exitCode"))
	if exit == "" || exit == "0" || exit == "null" {
		return outcome{text: output, success: true}
	}
	return outcome{text: output, fault: "exit status " + exit}
}
