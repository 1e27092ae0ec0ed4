package codehook

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A word is a tool of an agent that one of the built-in tools is the counterpart of.
type word struct {
	host string // the agent's name of it
	tool string // ours
	args []argument
}

// An argument is one that both have. An agent may have several names for it, at different times.
type argument struct {
	hosts []string
	ours  string
	unit  string // what the agent counts; "": the same as we
}

// Units of agents.
const (
	millis = "ms"   // milliseconds, where we have seconds
	zero   = "zero" // lines from 0, where we count from 1
)

// arg reads "file_path|path=path/ms": the agent's names, ours, and its unit. One name stands for
// both.
func arg(text string) argument {
	text, unit, _ := strings.Cut(text, "/")
	hosts, ours, two := strings.Cut(text, "=")
	if !two {
		ours = hosts
	}
	return argument{hosts: strings.Split(hosts, "|"), ours: ours, unit: unit}
}

func means(host, tool string, args ...string) word {
	w := word{host: host, tool: tool}
	for _, a := range args {
		w.args = append(w.args, arg(a))
	}
	return w
}

// vocabulary is what each agent calls the tools that we have too. A tool that is not here keeps its
// name and its arguments.
var vocabulary = map[Agent][]word{
	Claude: {
		means("Bash", "shell", "command=cmd", "timeout/ms"),
		means("Read", "read_file", "file_path=path", "offset", "limit"),
		means("Write", "write_file", "file_path=path", "content"),
		means("Edit", "edit_file", "file_path=path", "old_string=old", "new_string=new", "replace_all=all"),
		means("Glob", "list_files", "path", "pattern"),
		means("LS", "list_files", "path"),
		means("WebFetch", "fetch", "url"),
	},
	Codex: {
		means("Bash", "shell", "command=cmd"),
	},
	Gemini: {
		means("run_shell_command", "shell", "command=cmd"),
		means("read_file", "read_file", "file_path|absolute_path=path"),
		means("write_file", "write_file", "file_path=path", "content"),
		means("replace", "edit_file", "file_path=path", "old_string=old", "new_string=new", "allow_multiple=all"),
		means("list_directory", "list_files", "dir_path|path=path"),
		means("glob", "list_files", "dir_path|path=path", "pattern"),
	},
	Copilot: copilots,
	Qwen: {
		means("run_shell_command", "shell", "command=cmd", "timeout/ms"),
		means("read_file", "read_file", "file_path|absolute_path=path", "offset/zero", "limit"),
		means("write_file", "write_file", "file_path=path", "content"),
		means("edit", "edit_file", "file_path=path", "old_string=old", "new_string=new", "replace_all=all"),
		means("list_directory", "list_files", "path"),
		means("glob", "list_files", "path", "pattern"),
		means("web_fetch", "fetch", "url"),
	},
	Cursor: {
		means("Shell", "shell", "command=cmd", "timeout/ms"),
		means("Read", "read_file", "file_path|path=path"),
		means("Write", "write_file", "file_path|path=path", "content|contents=content"),
		means("LS", "list_files", "file_path|path=path"),
		means("Fetch", "fetch", "url"),
		means("WebFetch", "fetch", "url"),
	},
	OpenCode: {
		means("bash", "shell", "command=cmd", "timeout/ms"),
		means("read", "read_file", "filePath=path", "offset", "limit"),
		means("write", "write_file", "filePath=path", "content"),
		means("edit", "edit_file", "filePath=path", "oldString=old", "newString=new", "replaceAll=all"),
		means("list", "list_files", "path"),
		means("glob", "list_files", "path", "pattern"),
		means("webfetch", "fetch", "url"),
	},
}

// copilots are the tools of Copilot CLI: by its own names, and by those of Claude Code, which
// events have whose names begin with a capital. The arguments are its own in both.
var copilots = []word{
	means("bash", "shell", "command=cmd"),
	means("powershell", "shell", "command=cmd"),
	means("view", "read_file", "path|file_path=path"),
	means("create", "write_file", "path|file_path=path", "file_text|content=content"),
	means("edit", "edit_file", "path|file_path=path", "old_str|old_string=old", "new_str|new_string=new"),
	means("glob", "list_files", "path", "pattern"),
	means("web_fetch", "fetch", "url"),
	means("Bash", "shell", "command=cmd"),
	means("Read", "read_file", "path|file_path=path"),
	means("Write", "write_file", "path|file_path=path", "file_text|content=content"),
	means("Edit", "edit_file", "path|file_path=path", "old_str|old_string=old", "new_str|new_string=new"),
	means("Glob", "list_files", "path", "pattern"),
	means("WebFetch", "fetch", "url"),
}

// A call is a tool call, in the agent's words and in ours.
type call struct {
	host  string // the tool, as the agent calls it
	input raw    // its arguments, as the agent has them
	tool  string
	args  raw
	word  word
}

func (m *Moment) readCall() *call {
	c := &call{host: m.text("tool_name", "toolName", "tool"), input: m.value("tool_input", "toolArgs", "toolInput", "args")}
	if c.input == nil {
		c.input = raw("{}")
	}
	if text, ok := rawjson.Unquote(c.input); ok && isObject(raw(text)) { // an object in a string
		if object, err := rawjson.CleanWithin([]byte(text), rawjson.MaxForeign); err == nil {
			c.input = object
		}
	}
	c.tool, c.args = c.host, c.input
	if i := slices.IndexFunc(vocabulary[m.Agent], func(w word) bool { return w.host == c.host }); i >= 0 && isObject(c.input) {
		c.word = vocabulary[m.Agent][i]
		c.tool, c.args = c.word.tool, c.forth().JSON()
	}
	return c
}

// forth is the input in our words. What has no counterpart stays as it is, behind what has.
func (c *call) forth() hook.Object {
	input := fieldsOf(c.input)
	var known, rest hook.Object
	for _, a := range c.word.args {
		if f, ok := a.in(input); ok {
			known = append(known, hook.Field{Name: a.ours, Value: a.forth(f.Value)})
		}
	}
	for _, f := range input {
		if !c.word.has(f.Name, input) && known.Get(f.Name) == nil {
			rest = append(rest, f)
		}
	}
	return append(known, rest...)
}

// has tells whether an input's field of that name is one that both have.
func (w *word) has(name string, input hook.Object) bool {
	return slices.ContainsFunc(w.args, func(a argument) bool {
		f, ok := a.in(input)
		return ok && f.Name == name
	})
}

// in finds the argument in an agent's input.
func (a *argument) in(input hook.Object) (hook.Field, bool) {
	for _, name := range a.hosts {
		if v := input.Get(name); v != nil {
			return hook.Field{Name: name, Value: v}, true
		}
	}
	return hook.Field{}, false
}

// back is the agent's whole input, with the arguments as plugins left them. What has no counterpart
// is carried over: a plugin that writes the arguments anew does not know of it.
func (c *call) back(args raw) raw {
	input, now, was := fieldsOf(c.input), fieldsOf(args), fieldsOf(c.args)
	var out hook.Object
	for _, f := range input {
		a := c.word.by(f.Name, input)
		switch {
		case a == nil:
			if v := now.Get(f.Name); v != nil && !c.word.ours(f.Name) {
				f.Value = v
			}
			out = append(out, f)
		case now.Get(a.ours) == nil: // a plugin took it out
		case rawjson.Equal(now.Get(a.ours), was.Get(a.ours)):
			out = append(out, f)
		default:
			out = append(out, hook.Field{Name: f.Name, Value: a.back(now.Get(a.ours))})
		}
	}
	return append(out, c.added(now, out)...).JSON()
}

// added are the arguments that plugins put in.
func (c *call) added(now, out hook.Object) hook.Object {
	var more hook.Object
	input := fieldsOf(c.input)
	for _, f := range now {
		a := c.word.called(f.Name)
		if a == nil {
			if out.Get(f.Name) == nil {
				more = append(more, f)
			}
			continue
		}
		if _, there := a.in(input); !there {
			more = append(more, hook.Field{Name: a.hosts[0], Value: a.back(f.Value)})
		}
	}
	return more
}

// by finds the argument that a field of an agent's input is.
func (w *word) by(name string, input hook.Object) *argument {
	for i := range w.args {
		if f, ok := w.args[i].in(input); ok && f.Name == name {
			return &w.args[i]
		}
	}
	return nil
}

// called finds the argument that we call so.
func (w *word) called(name string) *argument {
	for i := range w.args {
		if w.args[i].ours == name {
			return &w.args[i]
		}
	}
	return nil
}

func (w *word) ours(name string) bool { return w.called(name) != nil }

// forth is an agent's value in our unit.
func (a *argument) forth(v raw) raw {
	switch a.unit {
	case millis:
		return counted(v, func(n float64) float64 { return n / 1000 })
	case zero:
		return counted(v, func(n float64) float64 { return n + 1 })
	}
	return v
}

// back is our value in the agent's unit. Agents count whole milliseconds.
func (a *argument) back(v raw) raw {
	switch a.unit {
	case millis:
		return counted(v, func(n float64) float64 { return math.Round(n * 1000) })
	case zero:
		return counted(v, func(n float64) float64 { return max(0, n-1) })
	}
	return v
}

// counted changes a number. What is no number, or none that can be counted with, stays as it is.
func counted(v raw, change func(float64) float64) raw {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.Abs(n) > 1e15 {
		return v
	}
	return raw(strconv.FormatFloat(change(n), 'f', -1, 64))
}

// own is what Patchbay's own MCP server is registered as.
const own = "patchbay"

// ours tells a call of a tool of Patchbay's own MCP server: plugins are asked there.
func (m *Moment) ours() bool {
	for _, name := range []string{"mcp_server", "mcp_context"} {
		server := fieldsOf(m.data.Get(name))
		if said := or(plain(server, "name"), plain(server, "server_name")); said != "" {
			return said == own
		}
	}
	return strings.HasPrefix(m.call.host, ownPrefix[m.Agent]) && ownPrefix[m.Agent] != ""
}

// ownPrefix is how each agent's names of those tools begin. Cursor's do not name the server.
var ownPrefix = map[Agent]string{Claude: "mcp__" + own + "__", Codex: "mcp__" + own + "__", Qwen: "mcp__" + own + "__",
	Gemini: "mcp_" + own + "_", OpenCode: own + "_", Copilot: own + "-"}
