package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A Draft describes a new plugin.
type Draft struct {
	Name        string
	Description string   // what it should do, in the user's words
	Hooks       []string // empty: the model chooses by the description
	Previous    string   // the code of the previous try; "" the first time
	Feedback    string   // what was wrong with it, or should be different
}

// draftPrompt explains the protocol of docs/protocols/python.md to the model.
const draftPrompt = `You write one plugin for an agent: a single Python file. Answer with the file alone, in one code block.

The file starts with a docstring of one line and then
__plugin__ = {"api": "1.0", "name": "NAME"}
These decorators are there without an import; use each at most once, on async functions:
@on_begin(ctx) at the start of a request; returns None.
@on_tool_call(ctx, call) before a tool runs; returns a changed ToolCall or None.
@on_resolve_tool(ctx, call) returns a ToolResult in the tool's place, or None to let it run.
@on_tool_result(ctx, call, result) after a tool ran; returns a changed ToolResult or None.
@on_final(ctx, text) before the answer is shown; returns the new text or None.
@on_done(ctx) when the request is over; returns None.
The decorators take no arguments: write "@on_begin" above "async def start(ctx):".
ctx has session_id, working_dir, user_text and state, a dict shared by the hooks of one request.
ToolCall(tool_name, tool_call_id, input) and ToolResult(tool_call_id, tool_name, output, success=True, error=None) are there too.
The tools are shell {cmd, timeout}, read_file {path}, write_file {path, content}, edit_file {path, old, new}, list_files {path}, fetch {url}.
Use the standard library alone. Never block: a handler has five seconds.`

// DraftPlugin returns the code of a new plugin. The model writes it. Without a model it is a
// template with the wanted hooks.
func (c *Core) DraftPlugin(ctx context.Context, d Draft) (string, error) {
	if c.Model().Info().Offline {
		return template(d), nil
	}
	var ask strings.Builder
	fmt.Fprintf(&ask, "The plugin's name is %s.\nWhat it should do: %s\n", d.Name, d.Description)
	if len(d.Hooks) > 0 {
		fmt.Fprintf(&ask, "Use these hooks: %s.\n", joined(d.Hooks))
	}
	if d.Previous != "" {
		fmt.Fprintf(&ask, "\nThis was the last try:\n```python\n%s\n```\nWhat should change: %s\n", d.Previous, d.Feedback)
	}
	reply, err := c.Model().Reply(ctx, &model.Request{System: draftPrompt,
		Messages: []model.Message{{Role: model.User, Content: ask.String()}}}, nil)
	if err != nil {
		return "", err
	}
	return codeOf(reply.Text)
}

var fence = pattern.New("(?s)```[a-zA-Z]*\n(.*?)```")

// codeOf returns the code in a model's answer: the longest code block, or the whole text if it has
// no block.
func codeOf(text string) (string, error) {
	code := ""
	for _, block := range fence.Regexp().FindAllStringSubmatch(text, -1) {
		if len(block[1]) > len(code) {
			code = block[1]
		}
	}
	if code == "" {
		code = text
	}
	if strings.TrimSpace(code) == "" {
		return "", errors.New("the model answered without any code: try again, or say it in other words")
	}
	return strings.TrimSpace(code) + "\n", nil
}

// bodies lists the handlers of the template. They change nothing, so that the plugin is safe to
// load. Each shows, in a comment, a line that would change something.
var bodies = []struct{ hook, code string }{
	{"on_begin", "async def begin(ctx):\n    ctx.state[\"tools\"] = 0"},
	{"on_tool_call", "async def before_tool(ctx, call):\n    ctx.state[\"tools\"] = ctx.state.get(\"tools\", 0) + 1\n" +
		"    # return ToolCall(call.tool_name, call.tool_call_id, {**call.input, \"timeout\": 30})\n    return None"},
	{"on_resolve_tool", "async def instead_of_tool(ctx, call):\n" +
		"    # return ToolResult(call.tool_call_id, call.tool_name, \"not today\", success=False)\n    return None"},
	{"on_tool_result", "async def after_tool(ctx, call, result):\n" +
		"    # return ToolResult(result.tool_call_id, result.tool_name, result.output.upper(), result.success)\n    return None"},
	{"on_final", "async def final(ctx, text):\n    # return text + \"\\n\\nsigned\"\n    return None"},
	{"on_done", "async def done(ctx):\n    print(\"tools called:\", ctx.state.get(\"tools\", 0))"},
}

// template returns the code of a plugin that the user can extend.
func template(d Draft) string {
	hooks := d.Hooks
	if len(hooks) == 0 {
		hooks = []string{"on_begin", "on_tool_call", "on_done"}
	}
	var b strings.Builder
	line := strings.ReplaceAll(strings.Join(strings.Fields(d.Description), " "), `"`, "'")
	fmt.Fprintf(&b, "\"\"\"%s\"\"\"\n__plugin__ = {\"api\": \"1.0\", \"name\": %q}\n", strings.ReplaceAll(line, `\`, `\\`), d.Name)
	for _, body := range bodies {
		if slices.Contains(hooks, body.hook) {
			fmt.Fprintf(&b, "\n\n@%s\n%s\n", body.hook, body.code)
		}
	}
	return b.String()
}
