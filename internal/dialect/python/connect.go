package python

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists the points to which hooks can be connected in addition to their own points. A
// command is shown as a tool whose input is args and flags. Sessions and commands begin and end
// like requests. No hook can be connected to job.preflight, because none of the six can refuse a
// job.
var elsewhere = []translation{
	{hook: onBegin, point: hook.SessionStart},
	{hook: onBegin, point: hook.CommandValidate, about: aboutCommand},
	{hook: onBegin, point: hook.CommandBefore, about: aboutCommand},
	{hook: onToolCall, point: hook.CommandValidate, about: aboutCommand, give: giveCommand, apply: changeCommand},
	{hook: onToolCall, point: hook.CommandBefore, about: aboutCommand, give: giveCommand, apply: changeCommand},
	{hook: onResolveTool, point: hook.ToolBefore, give: giveCall, apply: resolve},
	{hook: onResolveTool, point: hook.CommandValidate, about: aboutCommand, give: giveCommand, apply: resolveCommand},
	{hook: onResolveTool, point: hook.CommandBefore, about: aboutCommand, give: giveCommand, apply: resolveCommand},
	{hook: onToolResult, point: hook.CommandAfter, about: aboutCommand, give: giveOutput, apply: changeOutput},
	{hook: onToolResult, point: hook.CommandDone, about: aboutCommand, give: giveOutput},
	{hook: onFinal, point: hook.ModelReply, match: hasText("text"), give: giveText("text"), apply: changeText},
	{hook: onFinal, point: hook.TurnDone, match: hasText("text"), give: giveText("text")},
	{hook: onFinal, point: hook.JobSink, match: hasText("message"), give: giveText("message")},
	{hook: onFinal, point: hook.JobNotify, match: hasText("message"), give: giveText("message")},
	{hook: onDone, point: hook.SessionEnd},
	{hook: onDone, point: hook.CommandDone, about: aboutCommand},
	{hook: onDone, point: hook.JobSink},
	{hook: onDone, point: hook.JobNotify},
}

// connection returns the entry of a hook at a point. The error names the points to which that hook
// can be connected.
func connection(name string, point hook.Point) (*translation, error) {
	var points []string
	for _, list := range [][]translation{native, elsewhere} {
		for i := range list {
			if list[i].hook == name && list[i].point == point {
				return &list[i], nil
			}
			if list[i].hook == name {
				points = append(points, string(list[i].point))
			}
		}
	}
	return nil, dialect.NotCallable(Name, dialect.Spot{Hook: name, Point: point}, points)
}

// aboutCommand uses the command line as the user's text.
func aboutCommand(payload hook.Object) hook.Object {
	command, _ := rawjson.Unquote(asText(payload.Get("command")))
	words := []string{command}
	var args []string
	if err := json.Unmarshal(or(payload.Get("args"), "[]"), &args); err == nil {
		words = append(words, args...)
	}
	return append(aboutRequest(payload), text("user_text", strings.Join(words, " ")))
}

func giveCommand(payload hook.Object) hook.Object { return hook.Object{commandCall(payload)} }

// commandCall shows a command as a tool, with args and flags as its input.
func commandCall(payload hook.Object) hook.Field {
	input := hook.Object{
		{Name: "args", Value: or(payload.Get("args"), "[]")},
		{Name: "flags", Value: or(payload.Get("flags"), "{}")},
	}
	call := hook.Object{
		{Name: "tool_name", Value: asText(payload.Get("command"))},
		text("tool_call_id", ""),
		{Name: "input", Value: input.JSON()},
	}
	return hook.Field{Name: "call", Value: call.JSON()}
}

func or(v json.RawMessage, otherwise string) json.RawMessage {
	if rawjson.Missing(v) {
		return json.RawMessage(otherwise)
	}
	return v
}

// changeCommand sets those of command, args and flags that were changed.
func changeCommand(_, given, answer hook.Object) hook.Reply {
	was, now := part(given, "call"), part(answer, "call")
	reply := hook.Reply{Verdict: hook.Continue, Set: differing(was, now, map[string]string{"tool_name": "command"})}
	for range differing(was, now, map[string]string{"tool_call_id": "tool_call_id"}) {
		reply.Notes = append(reply.Notes, "the tool_call_id of its answer is ignored: a command has none")
	}
	had, has := part(was, "input"), part(now, "input")
	for _, f := range had {
		if has != nil && has.Get(f.Name) == nil && len(f.Value) > len("{}") {
			reply.Notes = append(reply.Notes, fmt.Sprintf("its input lacks %q, which stay as they were; to remove them, return an empty %s", f.Name, containerOf(f.Value)))
		}
	}
	for _, f := range has {
		switch {
		case bytes.Equal(f.Value, had.Get(f.Name)):
		case f.Value[0] == '[' && f.Name == "args" || f.Value[0] == '{' && f.Name == "flags":
			reply.Set = append(reply.Set, f)
		default:
			reply.Notes = append(reply.Notes, fmt.Sprintf("%.80q in its input is ignored: a command has only args, a list, and flags, a dict", f.Name))
		}
	}
	return reply
}

// containerOf returns Python's word for a list or an object.
func containerOf(v json.RawMessage) string {
	if v[0] == '[' {
		return "list"
	}
	return "dict"
}

// resolveCommand sets the result of a command, which does not run. A result without success refuses
// the command: printed as its output it would count as a success.
func resolveCommand(_, _, answer hook.Object) hook.Reply {
	result := part(answer, "result")
	output := result.Get("output")
	if string(success(result.Get("success"))) == "true" {
		reply := hook.Reply{Verdict: hook.Stop, Set: hook.Object{{Name: "result", Value: output}}}
		if !rawjson.Missing(result.Get("error")) {
			reply.Notes = append(reply.Notes, "the error of its answer is ignored: it says that the command has succeeded")
		}
		return reply
	}
	why := dialect.Plain(output)
	if why == "" {
		why = dialect.Plain(result.Get("error"))
	}
	return hook.Reply{Verdict: hook.Deny, Reason: why}
}

// giveOutput shows the result of a command as a tool's result. The result of a program is {stdout,
// stderr, exit_code}: stdout is the output, and stderr is the error if the program failed. If a
// command was refused or could not run, the reason for that is the error.
func giveOutput(payload hook.Object) hook.Object {
	output, ok, problem := payload.Get("result"), "true", json.RawMessage("null")
	if program := programResult(output); program != nil {
		output = program.Get("stdout")
		if code := program.Get("exit_code"); !rawjson.Missing(code) && string(code) != "0" {
			ok, problem = "false", asError(program.Get("stderr"))
		}
	}
	if why := payload.Get("error"); !rawjson.Missing(why) {
		ok, problem = "false", asError(why)
	}
	result := hook.Object{
		{Name: "output", Value: asText(output)},
		{Name: "success", Value: json.RawMessage(ok)},
		{Name: "error", Value: problem},
	}
	return hook.Object{commandCall(payload), {Name: "result", Value: result.JSON()}}
}

// changeOutput writes a changed output back to where it came from.
func changeOutput(payload, given, answer hook.Object) hook.Reply {
	set := differing(part(given, "result"), part(answer, "result"), map[string]string{"output": "result"})
	if program := programResult(payload.Get("result")); program != nil && len(set) > 0 {
		set[0].Value = program.With(hook.Field{Name: "stdout", Value: set[0].Value}).JSON()
	}
	reply := hook.Reply{Verdict: hook.Continue, Set: set}
	for _, f := range differing(part(given, "result"), part(answer, "result"), map[string]string{"success": "success", "error": "error"}) {
		reply.Notes = append(reply.Notes, fmt.Sprintf("the %s of its answer is ignored: only a command's output can be changed", f.Name))
	}
	return reply
}

// programResult returns the result of a program that was run, or nil if the result is of another
// kind.
func programResult(result json.RawMessage) hook.Object {
	o, err := rawjson.Parse(result)
	if err != nil || o.Get("stdout") == nil {
		return nil
	}
	return o
}
