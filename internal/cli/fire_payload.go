package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// warnOfPayload warns about fields that the point needs and the payload lacks, about misspelt
// fields, and about values of a wrong type. Dialects ignore such fields, so plugins would not get
// what the user wrote. where says which payload it is, as attributes of the log.
func (a *app) warnOfPayload(point hook.Point, data json.RawMessage, where ...any) {
	spec, _ := point.Spec()
	object, err := rawjson.Parse(data)
	if err != nil {
		return
	}
	for _, f := range payloadFaults(spec, object) {
		a.logger().Warn(f.text, append(where, "fix", f.fix)...)
	}
}

// A payloadFault is one fault, and how to fix it, if that is known.
type payloadFault struct{ text, fix string }

// payloadFaults returns what is wrong with a payload: a missing subject, because hooks that are
// limited to some commands or tools are then not called; misspelt fields; values of a wrong type.
// Other fields are allowed.
func payloadFaults(spec hook.Spec, object hook.Object) []payloadFault {
	var faults []payloadFault
	for _, f := range object {
		near := nearest.Word(f.Name, spec.Fields)
		switch want := fieldTypes[f.Name]; {
		case !slices.Contains(spec.Fields, f.Name) && near != "" && object.Get(near) == nil:
			faults = append(faults, payloadFault{fmt.Sprintf("the payload has %q, which events at %s do not have", f.Name, spec.Point),
				fmt.Sprintf("did you mean %q?", near)})
		case slices.Contains(spec.Fields, f.Name) && want != "" && !want.fits(f.Value):
			faults = append(faults, payloadFault{fmt.Sprintf("the payload's %q is not %s, as events at %s have it, so plugins may not get it", f.Name, want, spec.Point),
				fmt.Sprintf("write %q: %s", f.Name, fieldExamples[want])})
		}
	}
	if spec.Subject != "" && object.Get(spec.Subject) == nil {
		faults = append(faults, payloadFault{fmt.Sprintf("the payload has no %q, which events at %s need; the fields are %s",
			spec.Subject, spec.Point, strings.Join(spec.Fields, ", ")), fmt.Sprintf("write %q: %s", spec.Subject, fieldExamples[fieldTypes[spec.Subject]])})
	}
	return faults
}

// A fieldType is the type of a payload's field, in words.
type fieldType string

// The types.
const (
	aText  fieldType = "a string"
	aList  fieldType = "a list"
	texts  fieldType = "a list of strings"
	pairs  fieldType = "an object of strings"
	object fieldType = "an object"
)

// fieldExamples has a value for each type.
var fieldExamples = map[fieldType]string{aText: `"…"`, aList: "[…]", texts: `["…"]`, pairs: `{"NAME": "…"}`, object: "{…}"}

// fieldTypes lists the types of fields that are the same at every point. Fields that are not here
// may have any value.
var fieldTypes = map[string]fieldType{
	"session_id": aText, "working_dir": aText, "project_root": aText, "user_text": aText, "message": aText, "user_message": aText,
	"base_prompt": aText, "text": aText, "tool": aText, "call_id": aText, "strategy": aText, "trigger": aText, "command": aText,
	"timestamp": aText, "agent": aText, "schedule": aText, "event": aText,
	"args": texts, "flags": pairs, "arguments": object, "config": object,
	"tool_calls": aList, "tools": aList, "transcript": aList, "messages": aList, "messages_being_compacted": aList, "messages_remaining": aList,
}

// fits reports whether a value has the type. null stands for a field that is left out.
func (t fieldType) fits(value json.RawMessage) bool {
	var into any
	switch t {
	case aText:
		into = new(string)
	case aList:
		into = new([]json.RawMessage)
	case texts:
		into = new([]string)
	case pairs:
		into = new(map[string]string)
	default:
		into = new(map[string]json.RawMessage)
	}
	return json.Unmarshal(value, into) == nil
}
