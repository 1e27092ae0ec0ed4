package codehook

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A word maps a tool of an agent to the built-in tool that does the same.
type word struct {
	host string // the agent's name
	tool string // the built-in tool
	args []argument
}

// An argument is one that the agent's tool and the built-in tool both have. An agent may have
// several names for it, in different versions.
type argument struct {
	hosts []string
	ours  string
	unit  string // the agent's unit; "": the same as ours
}

// The units of agents.
const (
	millis = "ms"   // milliseconds; ours are seconds
	zero   = "zero" // lines counted from 0; ours are counted from 1
)

// arg parses "file_path|path=path/ms": the agent's names, our name, and the agent's unit. A single
// name is used for both.
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

// vocabulary lists each agent's names for the built-in tools. Any other tool keeps its name and its
// arguments.
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

// copilots lists the tools of Copilot CLI by its own names, and by those of Claude Code, which it
// uses in events whose names begin with a capital. The arguments are its own in both.
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

// A call is a tool call, in the agent's names and in ours.
type call struct {
	host  string // the agent's name of the tool
	input raw    // the agent's arguments
	tool  string
	args  raw
	word  word
	fault error // why the input must not be shown to plugins; nil: it may
}

// readCall reads the tool call. It sets the field fault if the input is nested too deep, or has two
// values for one argument: plugins might see another value than the one that the agent uses.
func (m *Moment) readCall() *call {
	c := &call{host: m.text("tool_name", "toolName", "tool"), input: m.value("tool_input", "toolArgs", "toolInput", "args")}
	if c.input == nil {
		c.input = raw("{}")
	}
	if text, ok := rawjson.Unquote(c.input); ok && isObject(bytes.TrimSpace([]byte(text))) { // an object in a string
		c.input = c.read(raw(text))
	} else if isObject(c.input) {
		c.input = c.read(c.input)
	}
	c.input = rawjson.Requote(c.input) // a plugin that does not decode it must not miss a word
	c.tool, c.args = c.host, c.input
	i := slices.IndexFunc(vocabulary[m.Agent], func(w word) bool { return w.host == c.host })
	if i < 0 {
		return c
	}
	c.tool = vocabulary[m.Agent][i].tool // whatever the input is, so that no guard of this tool is passed over
	if isObject(c.input) {
		c.word = vocabulary[m.Agent][i]
		c.args = c.toOurs().JSON()
		c.fault = cmp.Or(c.fault, c.word.ambiguous(fieldsOf(c.input)))
	}
	return c
}

// read returns an object without its spaces. It returns the input unchanged if text is not an
// object, and sets the fault if the object is odd.
func (c *call) read(text raw) raw {
	object, err := rawjson.ParseForeign(text)
	switch {
	case err == nil:
		return object.JSON()
	case IsOdd(err):
		c.fault = fmt.Errorf("the arguments of %.80q: %w", c.host, err)
	}
	return c.input
}

// ambiguous returns an error if the input has one argument under two of its names, with different
// values. Only the agent knows which of them counts.
func (w *word) ambiguous(input hook.Object) error {
	for i := range w.args {
		a := &w.args[i]
		f, ok := a.in(input)
		for _, name := range a.hosts {
			if v := input.Get(name); ok && v != nil && !rawjson.Equal(v, f.Value) {
				return fmt.Errorf("the arguments of %.80q: %s and %s mean the same: %w", w.host, f.Name, name, &rawjson.RepeatError{Name: a.ours})
			}
		}
	}
	return nil
}

// toOurs returns the input in our names. Fields without a counterpart stay unchanged, after the
// others.
func (c *call) toOurs() hook.Object {
	input := fieldsOf(c.input)
	var known, rest hook.Object
	for _, a := range c.word.args {
		if f, ok := a.in(input); ok {
			known = append(known, hook.Field{Name: a.ours, Value: a.toOurs(f.Value)})
		}
	}
	for _, f := range input {
		if !c.word.has(f.Name, input) && known.Get(f.Name) == nil {
			rest = append(rest, f)
		}
	}
	return append(known, rest...)
}

// has reports whether a field of the input is an argument that both tools have.
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

// toAgents returns the agent's whole input with the arguments as plugins left them. Fields without
// a counterpart are kept: a plugin that writes new arguments does not know them.
func (c *call) toAgents(args raw) raw {
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
		case now.Get(a.ours) == nil: // a plugin removed it
		case rawjson.Equal(now.Get(a.ours), was.Get(a.ours)):
			out = append(out, f)
		default:
			out = append(out, hook.Field{Name: f.Name, Value: a.toAgents(now.Get(a.ours))})
		}
	}
	return append(out, c.added(now, out)...).JSON()
}

// added returns the arguments that plugins added.
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
			more = append(more, hook.Field{Name: a.hosts[0], Value: a.toAgents(f.Value)})
		}
	}
	return more
}

// by returns the argument that belongs to a field of an agent's input.
func (w *word) by(name string, input hook.Object) *argument {
	for i := range w.args {
		if f, ok := w.args[i].in(input); ok && f.Name == name {
			return &w.args[i]
		}
	}
	return nil
}

// called returns the argument with our name.
func (w *word) called(name string) *argument {
	for i := range w.args {
		if w.args[i].ours == name {
			return &w.args[i]
		}
	}
	return nil
}

func (w *word) ours(name string) bool { return w.called(name) != nil }

// toOurs converts an agent's value to our unit.
func (a *argument) toOurs(v raw) raw {
	switch a.unit {
	case millis:
		return convertNumber(v, func(n float64) float64 { return n / 1000 })
	case zero:
		return convertNumber(v, func(n float64) float64 { return n + 1 })
	}
	return v
}

// toAgents converts our value to the agent's unit. Agents use whole milliseconds.
func (a *argument) toAgents(v raw) raw {
	switch a.unit {
	case millis:
		return convertNumber(v, func(n float64) float64 { return math.Round(n * 1000) })
	case zero:
		return convertNumber(v, func(n float64) float64 { return max(0, n-1) })
	}
	return v
}

// convertNumber changes a number. A value that is not a number, or is too large, stays unchanged.
func convertNumber(v raw, change func(float64) float64) raw {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.Abs(n) > 1e15 {
		return v
	}
	return raw(strconv.FormatFloat(change(n), 'f', -1, 64))
}

// own is the name under which Patchbay's own MCP server is registered.
const own = "patchbay"

// OwnTool returns the name of the called tool if its server has the name of Patchbay's own MCP
// server, which calls the plugins itself, and "" otherwise. Any server can have that name. So the
// plugins need not be called only if Patchbay offers such a tool: see [ShownAs].
func (m *Moment) OwnTool() string {
	if m.call == nil || m.alien {
		return ""
	}
	prefix := ownPrefix[m.Agent]
	name, has := strings.CutPrefix(m.call.host, prefix)
	for _, field := range []string{"mcp_server", "mcp_context"} {
		server := fieldsOf(m.data.Get(field))
		if said := or(plain(server, "name"), plain(server, "server_name")); said != "" {
			has = said == own
			name = or(plain(server, "tool_name"), name)
			break
		}
	}
	if !has || prefix == "" {
		return ""
	}
	return name
}

// ShownAs reports whether an agent may show a tool of an MCP server under a name. Agents replace
// the characters that their models do not accept.
func ShownAs(tool, shown string) bool {
	return strings.Map(accepted, tool) == strings.Map(accepted, shown)
}

// accepted replaces a character that not every model accepts in the name of a tool.
func accepted(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// ownPrefix is the prefix of those tools' names in each agent. Cursor's names do not contain the
// server.
var ownPrefix = map[Agent]string{Claude: "mcp__" + own + "__", Codex: "mcp__" + own + "__", Qwen: "mcp__" + own + "__",
	Gemini: "mcp_" + own + "_", OpenCode: own + "_", Copilot: own + "-"}
