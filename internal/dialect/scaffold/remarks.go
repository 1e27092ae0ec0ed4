package scaffold

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// blockFields are the fields of an answer to pre_tool_execute beside action.
var blockFields = []string{"arguments", "result", "success"}

// sentFields are the params of hooks. Plugins often send them back as they came. remarks does not
// look for the nearest known name of these fields: that would cost more than the rest of a small
// call.
var sentFields = []string{"tool_name", "user_message", "tool_calls"}

// allFields are the fields of the answers of all hooks.
var allFields = []string{"message", "dynamic_context", "base_prompt", "text", "arguments", "result", "success"}

// sendsBack reports whether a hook has a param that its answer cannot have. Plugins often send such
// a param back as it came.
func sendsBack(name, field string) bool {
	return name == "post_tool_execute" && (field == "arguments" || field == "success")
}

// answerFields returns the fields that the answer of a hook may have beside action.
func answerFields(name string) []string {
	if name == "pre_tool_execute" {
		return blockFields
	}
	return translationOf(name).fields
}

// remarks returns what is wrong with the fields of an answer: misspelt ones, those of another hook,
// and those of a wrong type. All are ignored, so a guard with such an answer lets everything pass:
// docs/protocols/scaffold.md, rows S35 and S36. A plugin may add fields of its own, which the trace
// shows.
func remarks(name string, answer hook.Object) []string {
	fields := answerFields(name)
	var notes []string
	for _, f := range answer {
		var note string
		if slices.Contains(sentFields, f.Name) {
			continue
		}
		if f.Name != "action" && !slices.Contains(fields, f.Name) {
			known := append([]string{"action"}, fields...)
			switch {
			case sendsBack(name, f.Name):
			case slices.Contains(allFields, f.Name):
				note = fmt.Sprintf("%s is ignored: an answer to %s may have %s", f.Name, name, strings.Join(known, ", "))
			case nearest.Word(f.Name, known) != "":
				note = dialect.UnknownField("the answer", f.Name, known)
			}
		} else if want := wantedType(f.Name); jsonType(f.Value) != want {
			note = fmt.Sprintf("%s is ignored: %s where %s belongs", f.Name, jsonType(f.Value), describe(f.Name, want))
		}
		if note != "" && len(notes) < dialect.MostUnknown {
			notes = append(notes, note)
		}
	}
	return notes
}

// toolRemarks returns what is wrong with the fields of a tool's answer. A tool call has failed only
// if the answer says "success":false: docs/protocols/scaffold.md, row S54.
func toolRemarks(answer hook.Object) []string {
	var notes []string
	known := []string{"success", "result"}
	for _, f := range answer {
		if !slices.Contains(known, f.Name) && nearest.Word(f.Name, known) != "" && len(notes) < dialect.MostUnknown {
			notes = append(notes, dialect.UnknownField("the answer", f.Name, known))
		}
	}
	if v := answer.Get("success"); v != nil && jsonType(v) != wantedType("success") {
		notes = append(notes, fmt.Sprintf("success is ignored: %s where true or false belongs", jsonType(v)))
	}
	if rawjson.Missing(answer.Get("result")) && string(answer.Get("success")) != "false" {
		notes = append(notes, "a tool answered without a result, which counts as an empty one; answer with success and result")
	}
	return notes
}

// missedRefusal returns remarks on an answer that lets a tool run, although it may be meant as a
// refusal. Only the action stop refuses.
func missedRefusal(name string, answer hook.Object, stop bool) []string {
	if name != "pre_tool_execute" || stop {
		return nil
	}
	switch {
	case isString(answer.Get("result")):
		return []string{"result is ignored: it counts only with the action stop"}
	case string(answer.Get("success")) == "false":
		return []string{"success is ignored: it counts only with the action stop"}
	}
	return nil
}

// noEffect returns a remark on an answer that has fields, but none of the protocol. An ok alone is
// the answer to shutdown, which plugins often give to everything; it can refuse nothing, so it is
// remarked only where a refusal is expected.
func noEffect(name string, answer hook.Object) []string {
	fields := answerFields(name)
	guard := name == "pre_tool_execute"
	expected := func(f hook.Field) bool {
		return f.Name == "action" || slices.Contains(fields, f.Name) || slices.Contains(sentFields, f.Name) || sendsBack(name, f.Name) || f.Name == "ok" && !guard
	}
	if len(answer) == 0 || slices.ContainsFunc(answer, expected) {
		return nil
	}
	effect := "changes nothing"
	if guard {
		effect = "means continue"
	}
	return []string{fmt.Sprintf("the answer has none of action, %s, so it %s", strings.Join(fields, ", "), effect)}
}

func wantedType(field string) string {
	if field == "success" {
		return "true or false"
	}
	return "a string"
}

func describe(field, want string) string {
	if field == "arguments" {
		return want + " of JSON"
	}
	return want
}

// jsonType names the type of a value.
func jsonType(v json.RawMessage) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
