package mine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists the points to which each stage can be connected, besides its point of [native]. A
// tool is shown as a command whose arguments are flags. Before the model, texts are shown as flags
// of a command with the point's name; after the model, as the result of such a command. At points
// of turns, sessions and jobs, a notify hook gets the whole event as the result.
var elsewhere = []translation{
	{stage: stagePrevalidate, point: hook.CommandBefore, command: "command", show: ofCommand, apply: toNewCommand},
	{stage: stagePrevalidate, point: hook.ToolBefore, command: "tool", show: ofTool, apply: toTool},
	{stage: stagePrevalidate, point: hook.TurnInput,
		show: ofTexts(hook.TurnInput, "message"), apply: toTexts("message")},

	{stage: stagePreexec, point: hook.CommandValidate, command: "command", show: ofCommand, apply: toNewCommand},
	{stage: stagePreexec, point: hook.ToolBefore, command: "tool", show: ofTool, apply: toTool},
	{stage: stagePreexec, point: hook.TurnInput,
		show: ofTexts(hook.TurnInput, "message"), apply: toTexts("message")},
	{stage: stagePreexec, point: hook.PromptContext,
		show: ofTexts(hook.PromptContext, "user_message", "dynamic_context"), apply: toTexts("dynamic_context")},
	{stage: stagePreexec, point: hook.PromptSend,
		show: ofTexts(hook.PromptSend, "base_prompt", "dynamic_context"), apply: toTexts("base_prompt", "dynamic_context")},

	{stage: stagePostexec, point: hook.ToolAfter, command: "tool", show: ofToolResult, apply: toToolResult},
	{stage: stagePostexec, point: hook.ModelReply, show: ofResult(hook.ModelReply), apply: toResult},
	{stage: stagePostexec, point: hook.TurnFinal, show: ofResult(hook.TurnFinal), apply: toResult},

	{stage: stageNotify, point: hook.CommandAfter, command: "command", show: ofCommand},
	{stage: stageNotify, point: hook.ToolAfter, command: "tool", show: ofToolResult},
	{stage: stageNotify, point: hook.TurnDone, show: ofEvent(hook.TurnDone)},
	{stage: stageNotify, point: hook.SessionIdle, show: ofEvent(hook.SessionIdle)},
	{stage: stageNotify, point: hook.SessionEnd, show: ofEvent(hook.SessionEnd)},
	{stage: stageNotify, point: hook.JobSink, show: ofEvent(hook.JobSink)},
	{stage: stageNotify, point: hook.JobNotify, show: ofEvent(hook.JobNotify)},
}

// connection returns the entry of a stage at a point. The error names the points to which that
// stage can be connected.
func connection(stage string, point hook.Point) (*translation, error) {
	return dialect.Connection(Name, dialect.Spot{Hook: stage, Point: point}, (*translation).spot, native, elsewhere)
}

// ofTool shows a tool's arguments as flags. Arguments that are not an object are shown as one of
// the args, so that a guard sees them.
func ofTool(p hook.Object) hookContext {
	c := hookContext{command: dialect.Plain(p.Get("tool")), flags: hook.Object{}}
	if arguments := dialect.Arguments(p.Get("arguments")); arguments != nil {
		c.flags = flatten(arguments)
	} else {
		c.args = []string{dialect.Plain(p.Get("arguments"))}
	}
	return c
}

// toTool writes changed flags back to the tool's arguments.
func toTool(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.command != nil && *c.command != shown.command {
		set = append(set, hook.Field{Name: "tool", Value: rawjson.String(*c.command)})
	}
	was := p.Get("arguments")
	_, inString := rawjson.Text(was)
	switch arguments, changed := restored(dialect.Arguments(was), c.flags); {
	case changed && shown.args != nil:
		notes = append(notes, "flags are ignored: the tool's arguments are not an object")
	case changed && inString:
		set = append(set, hook.Field{Name: "arguments", Value: rawjson.Quote(arguments)})
	case changed:
		set = append(set, hook.Field{Name: "arguments", Value: arguments})
	}
	if c.changesArgs(shown) {
		notes = append(notes, "args are ignored: of a tool's arguments, only flags can be changed")
	}
	if c.changesResult(shown) {
		notes = append(notes, "the result is ignored: the tool has not run yet")
	}
	return set, notes
}

func ofToolResult(p hook.Object) hookContext {
	c := ofTool(p)
	c.result = p.Get("result")
	return c
}

// toToolResult sets only the result, since the tool has run.
func toToolResult(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if _, changed := restored(dialect.Arguments(p.Get("arguments")), c.flags); changed || c.changesArgs(shown) {
		notes = append(notes, "args and flags are ignored: the tool has run")
	}
	if c.changesResult(shown) {
		set = append(set, hook.Field{Name: "result", Value: c.result})
	}
	return set, notes
}

// ofTexts shows fields of the payload as flags.
func ofTexts(point hook.Point, names ...string) func(hook.Object) hookContext {
	return func(p hook.Object) hookContext {
		c := hookContext{command: string(point), flags: hook.Object{}}
		for _, name := range names {
			c.flags = append(c.flags, hook.Field{Name: name, Value: dialect.AsText(p.Get(name))})
		}
		return c
	}
}

// toTexts writes changed flags back to the fields that may change.
func toTexts(names ...string) func(hook.Object, *hookContext, *changes) (hook.Object, []string) {
	return func(p hook.Object, _ *hookContext, c *changes) (set hook.Object, notes []string) {
		for _, f := range c.flags {
			switch {
			case dialect.Plain(p.Get(f.Name)) == dialect.Plain(f.Value):
			case slices.Contains(names, f.Name):
				set = append(set, f)
			default:
				notes = append(notes, fmt.Sprintf("the flag %q is ignored: only %s can change here", cut(f.Name), strings.Join(names, ", ")))
			}
		}
		return set, notes
	}
}

// ofResult shows the payload's text as a result.
func ofResult(point hook.Point) func(hook.Object) hookContext {
	return func(p hook.Object) hookContext {
		return hookContext{command: string(point), result: dialect.AsText(p.Get("text"))}
	}
}

func toResult(_ hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.changesResult(shown) {
		set = append(set, hook.Field{Name: "text", Value: dialect.AsText(c.result)})
	}
	return set, nil
}

// ofEvent shows the whole event as a result.
func ofEvent(point hook.Point) func(hook.Object) hookContext {
	return func(p hook.Object) hookContext {
		return hookContext{command: string(point), result: p.JSON()}
	}
}
