package codehook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// A judge checks answers against the contracts of the agents. It is written from the contracts
// alone, and shares no code with the package.
type judge struct {
	agent  codehook.Agent
	event  string
	data   map[string]any // the event, as it was sent
	answer codehook.Answer
}

// A verdict is what the agent would do with the answer.
type verdict struct {
	denied  bool   // the call does not run, the message does not go to the model, the turn does not end
	reason  string // why
	input   map[string]any
	result  any    // instead of the tool's
	context string // added for the model
	prompt  string
	reply   string
	system  []any
}

// A rule lists what the answer to an event may have.
type rule struct {
	top    []string                              // fields beside hookSpecificOutput
	inner  []string                              // fields of hookSpecificOutput; nil: it must be missing
	strict func(j judge, o map[string]any) error // further conditions
}

var nothing = rule{}

// rules has the contracts, by agent and event. An event that is not listed accepts no answer.
var rules = map[codehook.Agent]map[string]rule{
	codehook.Claude: {
		"PreToolUse":         {inner: []string{"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}, strict: permission},
		"PostToolUse":        {inner: []string{"additionalContext", "updatedToolOutput"}, strict: wholeResult},
		"PostToolUseFailure": {inner: []string{"additionalContext"}},
		"UserPromptSubmit":   {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: block},
		"SessionStart":       {inner: []string{"additionalContext"}},
		"Stop":               {top: []string{"decision", "reason"}, strict: block},
	},
	codehook.Qwen: {
		"PreToolUse":         {inner: []string{"permissionDecision", "permissionDecisionReason"}, strict: permission},
		"PostToolUse":        {top: []string{"continue", "stopReason"}, inner: []string{"additionalContext"}, strict: stopReason},
		"PostToolUseFailure": {inner: []string{"additionalContext"}},
		"UserPromptSubmit":   {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: block},
		"SessionStart":       {inner: []string{"additionalContext"}},
		"Stop":               {top: []string{"decision", "reason"}, strict: block},
	},
	codehook.Codex: {
		"PreToolUse":       {inner: []string{"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}, strict: codexPermission},
		"PostToolUse":      {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: block},
		"UserPromptSubmit": {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: block},
		"SessionStart":     {inner: []string{"additionalContext"}},
		"Stop":             {top: []string{"decision", "reason"}, strict: block},
	},
	codehook.Gemini: {
		"BeforeTool":   {top: []string{"decision", "reason"}, inner: []string{"tool_input"}, strict: deny},
		"AfterTool":    {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: deny},
		"BeforeAgent":  {top: []string{"decision", "reason"}, inner: []string{"additionalContext"}, strict: deny},
		"AfterAgent":   {top: []string{"decision", "reason"}, strict: deny},
		"AfterModel":   {inner: []string{"llm_response"}, strict: wholeReply},
		"SessionStart": {inner: []string{"additionalContext"}},
	},
	codehook.Copilot: {
		"PreToolUse":          {top: []string{"permissionDecision", "permissionDecisionReason", "modifiedArgs"}, strict: flatPermission},
		"PostToolUse":         {top: []string{"modifiedResult", "additionalContext"}, strict: flatResult},
		"PostToolUseFailure":  {top: []string{"additionalContext"}},
		"UserPromptSubmit":    {top: []string{"additionalContext", "modifiedPrompt", "decision", "reason"}, strict: block},
		"SessionStart":        {top: []string{"additionalContext"}},
		"Stop":                {top: []string{"decision", "reason"}, strict: block},
		"preToolUse":          {top: []string{"permissionDecision", "permissionDecisionReason", "modifiedArgs"}, strict: flatPermission},
		"postToolUse":         {top: []string{"modifiedResult", "additionalContext"}, strict: flatResult},
		"postToolUseFailure":  {top: []string{"additionalContext"}},
		"userPromptSubmitted": {top: []string{"additionalContext", "modifiedPrompt", "decision", "reason"}, strict: block},
		"sessionStart":        {top: []string{"additionalContext"}},
		"agentStop":           {top: []string{"decision", "reason"}, strict: block},
	},
	codehook.Cursor: {
		"preToolUse":           {top: []string{"permission", "user_message", "agent_message", "updated_input", "additional_context"}, strict: cursorPermission},
		"postToolUse":          {top: []string{"additional_context", "updated_mcp_tool_output"}, strict: cursorResult},
		"beforeShellExecution": {top: []string{"permission", "user_message", "agent_message"}, strict: cursorPermission},
		"beforeSubmitPrompt":   {top: []string{"continue", "user_message", "additional_context"}},
		"sessionStart":         {top: []string{"continue", "user_message", "additional_context", "env"}},
		"stop":                 {top: []string{"followup_message"}},
	},
}

// check returns what is wrong with an answer, and what the agent would do with it.
func (j judge) check() (verdict, error) {
	o, err := j.document()
	if err != nil || o == nil {
		return verdict{}, err
	}
	if j.agent == codehook.OpenCode {
		return j.openCode(o)
	}
	r, known := rules[j.agent][j.event]
	if !known {
		r = nothing
	}
	if err := j.fields(o, r); err != nil {
		return verdict{}, err
	}
	if r.strict != nil {
		if err := r.strict(j, o); err != nil {
			return verdict{}, err
		}
	}
	return j.read(o), nil
}

// document checks that the answer is one JSON object, or empty if that means no opinion, with exit
// code 0.
func (j judge) document() (map[string]any, error) {
	switch {
	case j.answer.ExitCode != 0:
		return nil, fmt.Errorf("exit code %d", j.answer.ExitCode)
	case j.answer.Stderr != "":
		return nil, fmt.Errorf("stderr: %q", j.answer.Stderr)
	case len(j.answer.Stdout) > 10<<20 && j.agent == codehook.Copilot:
		return nil, errors.New("more than 10 MiB")
	}
	if j.answer.Stdout == "" {
		if j.agent == codehook.Cursor || j.agent == codehook.OpenCode {
			return nil, errors.New("the answer is empty")
		}
		return nil, nil
	}
	if j.answer.Stdout[0] != '{' {
		return nil, errors.New("it does not begin with {")
	}
	if line, rest, _ := strings.Cut(j.answer.Stdout, "\n"); rest != "" || line == j.answer.Stdout {
		return nil, errors.New("it is not one line")
	}
	return one(j.answer.Stdout)
}

func one(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // numbers need not fit into a float
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return o, nil
}

// fields checks that the answer has only fields of the event, no null, and strings where required.
func (j judge) fields(o map[string]any, r rule) error {
	for name, v := range o {
		if name == "hookSpecificOutput" {
			if err := j.innerFields(v, r); err != nil {
				return err
			}
			continue
		}
		if !slices.Contains(r.top, name) {
			return fmt.Errorf("%s has no field %s", j.event, name)
		}
		if err := typed(name, v); err != nil {
			return err
		}
	}
	return nil
}

func (j judge) innerFields(v any, r rule) error {
	inner, ok := v.(map[string]any)
	if !ok || len(r.inner) == 0 {
		return fmt.Errorf("hookSpecificOutput of %s: %v", j.event, v)
	}
	named := j.agent != codehook.Gemini
	if named && inner["hookEventName"] != j.event {
		return fmt.Errorf("hookEventName is %v", inner["hookEventName"])
	}
	for name, v := range inner {
		if name == "hookEventName" && named {
			continue
		}
		if !slices.Contains(r.inner, name) {
			return fmt.Errorf("hookSpecificOutput of %s has no field %s", j.event, name)
		}
		if err := typed(name, v); err != nil {
			return err
		}
	}
	return nil
}

// typed checks the type of one field. It knows the fields of all agents.
func typed(name string, v any) error {
	var ok bool
	switch name {
	case "updatedInput", "tool_input", "modifiedArgs", "updated_input", "modifiedResult", "llm_response", "env":
		_, ok = v.(map[string]any)
	case "continue":
		_, ok = v.(bool)
	case "updatedToolOutput", "updated_mcp_tool_output":
		ok = v != nil
	default:
		var s string
		s, ok = v.(string)
		ok = ok && s != ""
	}
	if !ok {
		return fmt.Errorf("%s is %v (%T)", name, v, v)
	}
	return nil
}

func inner(o map[string]any) map[string]any {
	m, _ := o["hookSpecificOutput"].(map[string]any)
	return m
}

// permission checks that the answer decides only to deny. Allowing a call would bypass the user's
// rules.
func permission(_ judge, o map[string]any) error {
	in := inner(o)
	switch d := in["permissionDecision"]; {
	case d == nil && in["permissionDecisionReason"] == nil:
		return nil
	case d == "deny" && in["permissionDecisionReason"] != nil && in["updatedInput"] == nil:
		return nil
	default:
		return fmt.Errorf("permissionDecision %v", d)
	}
}

// codexPermission checks that a denial has a reason, that an allowance and a new input come
// together, and that a command has its text.
func codexPermission(j judge, o map[string]any) error {
	in := inner(o)
	input, rewritten := in["updatedInput"].(map[string]any)
	switch in["permissionDecision"] {
	case "deny":
		if in["permissionDecisionReason"] == nil || rewritten {
			return errors.New("a denial without a reason, or with an input")
		}
	case "allow":
		if !rewritten || in["permissionDecisionReason"] != nil {
			return errors.New("an allowance without an input")
		}
		if _, ok := input["command"].(string); !ok && j.data["tool_name"] == "Bash" {
			return errors.New("a command without its text")
		}
	case nil:
		if rewritten {
			return errors.New("an input without an allowance")
		}
	default:
		return fmt.Errorf("permissionDecision %v", in["permissionDecision"])
	}
	return nil
}

func flatPermission(_ judge, o map[string]any) error {
	if (o["permissionDecision"] == nil) != (o["permissionDecisionReason"] == nil) {
		return errors.New("a decision without a reason, or a reason without a decision")
	}
	if d := o["permissionDecision"]; d != nil && (d != "deny" || o["modifiedArgs"] != nil) {
		return fmt.Errorf("permissionDecision %v", d)
	}
	return nil
}

func cursorPermission(_ judge, o map[string]any) error {
	if p := o["permission"]; p != nil && (p != "deny" || o["updated_input"] != nil) {
		return fmt.Errorf("permission %v", p)
	}
	return nil
}

func cursorResult(j judge, o map[string]any) error {
	name, _ := j.data["tool_name"].(string)
	if o["updated_mcp_tool_output"] != nil && !strings.HasPrefix(name, "MCP:") {
		return errors.New("updated_mcp_tool_output for Cursor's own tool")
	}
	return nil
}

func block(_ judge, o map[string]any) error { return decides(o, "block") }

func deny(_ judge, o map[string]any) error { return decides(o, "deny") }

func decides(o map[string]any, word string) error {
	if (o["decision"] == nil) != (o["reason"] == nil) || o["decision"] != nil && o["decision"] != word {
		return fmt.Errorf("decision %v, reason %v", o["decision"], o["reason"])
	}
	return nil
}

func stopReason(_ judge, o map[string]any) error {
	if (o["continue"] == nil) != (o["stopReason"] == nil) || o["continue"] == true {
		return fmt.Errorf("continue %v, stopReason %v", o["continue"], o["stopReason"])
	}
	return nil
}

func flatResult(_ judge, o map[string]any) error {
	r, ok := o["modifiedResult"].(map[string]any)
	if !ok {
		return nil
	}
	if _, ok := r["textResultForLlm"].(string); !ok || r["resultType"] != "success" || len(r) != 2 {
		return fmt.Errorf("modifiedResult %v", r)
	}
	return nil
}

// wholeResult checks that a new result has the form of the tool's own: Claude Code ignores any
// other.
func wholeResult(j judge, o map[string]any) error {
	now, ok := inner(o)["updatedToolOutput"]
	if !ok {
		return nil
	}
	return sameForm("updatedToolOutput", j.data["tool_response"], now)
}

func wholeReply(j judge, o map[string]any) error {
	return sameForm("llm_response", j.data["llm_response"], inner(o)["llm_response"])
}

// sameForm returns an error if two values differ in their types or in their fields. Lists may be
// shorter.
func sameForm(at string, was, now any) error {
	if reflect.TypeOf(was) != reflect.TypeOf(now) {
		return fmt.Errorf("%s was a %T and is a %T", at, was, now)
	}
	old, ok := was.(map[string]any)
	if !ok {
		return nil
	}
	fields := now.(map[string]any)
	if !slices.Equal(slices.Sorted(maps.Keys(old)), slices.Sorted(maps.Keys(fields))) {
		return fmt.Errorf("%s had the fields %v and has %v", at, slices.Sorted(maps.Keys(old)), slices.Sorted(maps.Keys(fields)))
	}
	for name := range old {
		if err := sameForm(at+"."+name, old[name], fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// openCode checks that the line has its id, and either fields of the event's output or a reason.
func (j judge) openCode(o map[string]any) (verdict, error) {
	if !reflect.DeepEqual(o["id"], j.data["id"]) {
		return verdict{}, fmt.Errorf("id %v for %v", o["id"], j.data["id"])
	}
	var v verdict
	was, _ := j.data["output"].(map[string]any)
	for name, value := range o {
		switch name {
		case "id":
		case "deny":
			v.reason, v.denied = value.(string)
			if !v.denied || v.reason == "" || o["output"] != nil {
				return v, fmt.Errorf("deny %v", value)
			}
		case "output":
			now, ok := value.(map[string]any)
			if !ok || len(now) == 0 {
				return v, fmt.Errorf("output %v", value)
			}
			for field, value := range now {
				odd := field == "output" && was["output"] == nil // a result of an unknown form gets a text
				if reflect.TypeOf(was[field]) != reflect.TypeOf(value) && !odd {
					return v, fmt.Errorf("output.%s was %T and is %T", field, was[field], value)
				}
				v.take(field, value, was[field])
			}
		default:
			return v, fmt.Errorf("no field %s", name)
		}
	}
	return v, nil
}

func (v *verdict) take(field string, value, was any) {
	switch field {
	case "args":
		v.input, _ = value.(map[string]any)
	case "output", "content":
		v.result = value
	case "text":
		v.reply, _ = value.(string)
	case "system":
		v.system, _ = value.([]any)
		v.context = fmt.Sprint(value)
	case "parts":
		v.prompt, v.context = fmt.Sprint(value), fmt.Sprint(value)
		if len(was.([]any)) < len(value.([]any)) {
			v.prompt = "parts were added, which would need ids"
		}
	}
}

// read returns what the agent would do.
func (j judge) read(o map[string]any) verdict {
	in, v := inner(o), verdict{}
	str := func(m map[string]any, name string) string { s, _ := m[name].(string); return s }
	v.context = str(in, "additionalContext") + str(o, "additionalContext") + str(o, "additional_context")
	v.prompt = str(o, "modifiedPrompt")
	for _, input := range []any{in["updatedInput"], in["tool_input"], o["modifiedArgs"], o["updated_input"]} {
		if m, ok := input.(map[string]any); ok {
			v.input = m
		}
	}
	for _, reason := range []string{str(in, "permissionDecisionReason"), str(o, "permissionDecisionReason"), str(o, "reason")} {
		if reason != "" {
			v.denied, v.reason = true, reason
		}
	}
	if o["permission"] == "deny" || o["continue"] == false && j.agent == codehook.Cursor {
		v.denied, v.reason = true, str(o, "user_message")
	}
	afterwards := slices.Contains([]string{"PostToolUse", "postToolUse", "AfterTool"}, j.event)
	switch {
	case in["updatedToolOutput"] != nil:
		v.result = in["updatedToolOutput"]
	case o["modifiedResult"] != nil:
		v.result = o["modifiedResult"]
	case o["updated_mcp_tool_output"] != nil:
		v.result = o["updated_mcp_tool_output"]
	case o["stopReason"] != nil && afterwards:
		v.result = o["stopReason"]
	case v.denied && afterwards:
		v.result, v.denied = v.reason, false
	}
	if r, ok := in["llm_response"].(map[string]any); ok {
		v.reply = fmt.Sprint(r["candidates"])
	}
	return v
}
