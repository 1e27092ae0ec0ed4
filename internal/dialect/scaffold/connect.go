package scaffold

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// elsewhere lists the points other than their own to which hooks can be connected. A command is
// shown as a tool whose arguments are args and flags, and the final text of a turn as a model's
// reply without tool calls. If a plugin stops a command without success, the command is refused,
// because a result in its place would count as a success.
var elsewhere = []translation{
	{name: "pre_tool_execute", point: hook.CommandValidate, params: commandParams, apply: answerCommand, denies: true},
	{name: "pre_tool_execute", point: hook.CommandBefore, params: commandParams, apply: answerCommand, denies: true},
	{name: "post_tool_execute", point: hook.CommandAfter, params: finishedCommandParams, apply: replaceOutput},
	{name: "post_tool_execute", point: hook.CommandDone, params: finishedCommandParams},
	{name: "post_llm_response", point: hook.TurnFinal, fields: []string{"text"},
		params: func(ev *hook.Event) json.RawMessage {
			p := ev.Payload
			return ev.Encode(hook.Object{text(p, "text"), toolCalls(p)})
		}},
}

// connection returns the entry of a hook at a point, which may be the hook's own. The error names
// the other points to which the hook can be connected. If there are no other points, the error says
// that the hook is called at its own point without a connection.
func connection(name string, point hook.Point) (*translation, error) {
	here := func(t translation) bool { return t.name == name }
	if own := translationOf(name); own != nil && own.point != point && !slices.ContainsFunc(elsewhere, here) {
		return nil, dialect.WithFix(fmt.Errorf("%s hook %s cannot be called at %s", Name, name, point),
			fmt.Sprintf("remove the table: the hook is called at %s, without a connection", own.point))
	} else if own != nil && own.point == point {
		return own, nil
	}
	return dialect.Connection(Name, dialect.Spot{Hook: name, Point: point}, (*translation).spot, elsewhere)
}

// commandParams shows a command as a tool, with args and flags as its arguments.
func commandParams(ev *hook.Event) json.RawMessage { return commandFields(ev.Payload).JSON() }

func commandFields(p hook.Object) hook.Object {
	return hook.Object{
		{Name: "tool_name", Value: dialect.AsText(p.Get("command"))},
		{Name: "arguments", Value: dialect.AsText(commandArguments(p).JSON())},
	}
}

func commandArguments(p hook.Object) hook.Object {
	return hook.Object{
		{Name: "args", Value: dialect.Or(p.Get("args"), json.RawMessage("[]"))},
		{Name: "flags", Value: dialect.Or(p.Get("flags"), json.RawMessage("{}"))},
	}
}

// finishedCommandParams adds the result. A program with exit code 0 succeeded. If a command was
// refused or could not run, and has no result, the reason is sent as its result.
func finishedCommandParams(ev *hook.Event) json.RawMessage {
	p := ev.Payload
	success := json.RawMessage("true")
	if result, err := rawjson.Parse(p.Get("result")); err == nil {
		if code := result.Get("exit_code"); len(code) > 0 && string(code) != "0" {
			success = json.RawMessage("false")
		}
	}
	result := text(p, "result")
	if why := p.Get("error"); dialect.Plain(why) != "" {
		success = json.RawMessage("false")
		result.Value = dialect.AsText(dialect.Or(p.Get("result"), why))
	}
	return append(commandFields(p), result, hook.Field{Name: "success", Value: success}).JSON()
}

// answerCommand reads a reply to pre_tool_execute before a command. A stop with success sets the
// command's result. Otherwise changed arguments set args and flags.
func answerCommand(_, reply hook.Object, stop bool) (hook.Object, string) {
	if stop {
		return blockTool(reply)[:1], "" // the result alone; a command has no field success
	}
	changed, ok := rawjson.Text(reply.Get("arguments"))
	if !ok {
		return nil, ""
	}
	object, err := inString(changed)
	if err != nil {
		return nil, "arguments are ignored: " + err.Error()
	}
	var set hook.Object
	var notes []string
	if v := object.Get("args"); isA[[]string](v) {
		set = append(set, hook.Field{Name: "args", Value: v})
	} else if v != nil {
		notes = append(notes, "args in arguments is ignored: it is not a list of strings")
	}
	if v := object.Get("flags"); isA[map[string]string](v) {
		set = append(set, hook.Field{Name: "flags", Value: v})
	} else if v != nil {
		notes = append(notes, "flags in arguments is ignored: it is not an object of strings")
	}
	return set, strings.Join(notes, "; ")
}

// isA reports whether a value is of the JSON type that a T is decoded from, and not null.
func isA[T any](v json.RawMessage) bool {
	var into T
	return !rawjson.Missing(v) && json.Unmarshal(v, &into) == nil
}

// replaceOutput reads a reply to post_tool_execute after a command. The result of a program is
// {stdout, stderr, exit_code}. A reply that is a JSON object replaces it, and any other text
// replaces stdout. A result that is not an object is replaced by any reply.
func replaceOutput(p, reply hook.Object, _ bool) (hook.Object, string) {
	changed, ok := rawjson.Text(reply.Get("result"))
	if !ok {
		return nil, ""
	}
	was, err := rawjson.Parse(p.Get("result"))
	if err != nil {
		return hook.Object{{Name: "result", Value: reply.Get("result")}}, ""
	}
	if object, err := inString(changed); err == nil {
		return hook.Object{{Name: "result", Value: object.JSON()}}, ""
	}
	now := was.With(hook.Field{Name: "stdout", Value: reply.Get("result")})
	return hook.Object{{Name: "result", Value: now.JSON()}}, ""
}
