package kaged

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one kaged hook at one point. ask turns the event into params, and answer turns
// the result into a reply.
type translation struct {
	hook  string // in the words of the protocol
	point hook.Point
	// ask returns the params. It must not modify the payload.
	ask func(payload hook.Object) hook.Object
	// answer reads a result that is not null.
	answer func(result wire.Result, payload hook.Object) (hook.Reply, error)
}

func (w *translation) spot() dialect.Spot { return dialect.Spot{Hook: w.hook, Point: w.point} }

// native lists the four hooks of the protocol at their own points: docs/protocols/kaged.md, rows
// K88 to K91.
var native = []translation{
	{hook: "on_session_start", point: hook.SessionStart, ask: without("inject"), answer: injected},
	{hook: "on_session_idle", point: hook.SessionIdle, ask: without(), answer: nothing},
	{hook: "pre_compact", point: hook.CompactBefore, ask: without("summary"), answer: compacted},
	{hook: "post_compact", point: hook.CompactAfter, ask: without("retain", "inject"), answer: retained},
}

// without passes the event's fields on unchanged, except those in which plugins answer. These are
// not among the protocol's params.
func without(answers ...string) func(hook.Object) hook.Object {
	return func(payload hook.Object) hook.Object {
		isAnswer := func(f hook.Field) bool { return slices.Contains(answers, f.Name) }
		if !slices.ContainsFunc(payload, isAnswer) {
			return payload
		}
		return slices.DeleteFunc(slices.Clone(payload), isAnswer)
	}
}

// read turns a hook's result into a reply. null changes nothing.
func (w *translation) read(result wire.Result, payload hook.Object) (hook.Reply, error) {
	if rawjson.Missing(result.JSON) {
		return hook.Reply{}, nil
	}
	return w.answer(result, payload)
}

// AnswerFields returns the fields that the answer of a hook may have.
func AnswerFields(hookName string) []string {
	switch hookName {
	case "on_session_start":
		return []string{"inject"}
	case hookPreCompact:
		return []string{"messages", "summary"}
	case "post_compact":
		return []string{"retain", "inject"}
	}
	return nil
}

// injected reads the answer of docs/protocols/kaged.md, row K88.
func injected(result wire.Result, _ hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	text, err := text(o, "inject")
	if err != nil {
		return hook.Reply{}, err
	}
	return hook.Reply{Set: present(field("inject", text)), Notes: unknown(o, "on_session_start")}, nil
}

// nothing reads the answer of docs/protocols/kaged.md, row K89, which should be null.
func nothing(result wire.Result, _ hook.Object) (hook.Reply, error) {
	return hook.Reply{Notes: []string{"answered " + cut(result.JSON) + " instead of null: ignored"}}, nil
}

// compacted reads the answer of docs/protocols/kaged.md, row K90.
func compacted(result wire.Result, _ hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	messages, err := messages(o, "messages")
	if err != nil {
		return hook.Reply{}, err
	}
	summary, err := text(o, "summary")
	if err != nil {
		return hook.Reply{}, err
	}
	set := present(field("messages", messages), field("summary", summary))
	switch {
	case len(set) > 0:
		return hook.Reply{Verdict: hook.Stop, Set: set, Notes: unknown(o, hookPreCompact)}, nil
	case len(o) == 0:
		return hook.Reply{Notes: []string{"answered {}, which counts as null"}}, nil
	}
	return hook.Reply{}, garbled("the compactor's answer %s has neither messages nor summary", cut(result.JSON))
}

// observed ignores the answer of an observer to pre_compact: docs/protocols/kaged.md, row K68.
func observed(result wire.Result, _ hook.Object) (hook.Reply, error) {
	return hook.Reply{Notes: []string{"an observer's answer does not count: " + cut(result.JSON)}}, nil
}

// retained reads the answer of docs/protocols/kaged.md, row K91.
func retained(result wire.Result, payload hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	retain, err := messages(o, "retain")
	if err != nil {
		return hook.Reply{}, err
	}
	inject, err := text(o, "inject")
	if err != nil {
		return hook.Reply{}, err
	}
	retain, err = withoutRetained(retain, payload.Get("retain"))
	if err != nil {
		return hook.Reply{}, err
	}
	return hook.Reply{Set: present(field("retain", retain), field("inject", inject)), Notes: unknown(o, "post_compact")}, nil
}

// unknown notes the fields of an answer that the hook does not have: docs/protocols/kaged.md, row
// K66.
func unknown(o rawjson.Object, hookName string) []string {
	return dialect.UnknownFields("the answer", o, AnswerFields(hookName))
}

// withoutRetained removes the messages that earlier plugins have retained, so that each message is
// retained once: docs/protocols/kaged.md, row K65.
func withoutRetained(list, before json.RawMessage) (json.RawMessage, error) {
	if rawjson.Missing(list) || rawjson.Missing(before) {
		return list, nil
	}
	var mine, theirs []json.RawMessage
	if err := json.Unmarshal(list, &mine); err != nil {
		return nil, garbled("retain is %s, but must be a list", cut(list))
	}
	if err := json.Unmarshal(before, &theirs); err != nil {
		return list, nil // another plugin's answer; the host checks it
	}
	kept := slices.DeleteFunc(slices.Clone(mine), func(m json.RawMessage) bool {
		return slices.ContainsFunc(theirs, func(t json.RawMessage) bool { return sameValue(m, t) })
	})
	if len(kept) == len(mine) {
		return list, nil
	}
	return rawjson.List(kept), nil
}

func resultObject(result wire.Result) (rawjson.Object, error) {
	if err := dialect.Unambiguous(result); err != nil {
		return nil, err
	}
	if result.Fields == nil {
		return nil, garbled("the hook's result is %s, but must be an object or null", cut(result.JSON))
	}
	return result.Fields, nil
}

// text returns a string field, or nil if it is absent, null or empty.
func text(o rawjson.Object, name string) (json.RawMessage, error) {
	v := o.Get(name)
	if rawjson.Missing(v) {
		return nil, nil
	}
	s, ok := rawjson.Unquote(v)
	if !ok {
		return nil, garbled("%s is %s, but must be a string", name, cut(v))
	}
	if s == "" {
		return nil, nil
	}
	return v, nil
}

// list returns a list field, or nil if it is absent or null.
func list(o rawjson.Object, name string) (json.RawMessage, error) {
	v := o.Get(name)
	if rawjson.Missing(v) {
		return nil, nil
	}
	if v[0] != '[' {
		return nil, garbled("%s is %s, but must be a list", name, cut(v))
	}
	return v, nil
}

// messages returns a field that lists messages, or nil if it is absent or null.
func messages(o rawjson.Object, name string) (json.RawMessage, error) {
	v, err := list(o, name)
	if v == nil || err != nil {
		return nil, err
	}
	if err := CheckMessages(v); err != nil {
		return nil, garbled("%s%w", name, err)
	}
	return v, nil
}

// roles are the roles that a message may have.
var roles = []string{"user", "assistant", "system", "tool"}

// CheckMessages returns an error if a value is not a list of messages. The error's text continues
// the name of the list: "[2] is …" for the first value that is not a message, " is …" if there is
// no list.
func CheckMessages(list json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(list, &all); err != nil {
		return fmt.Errorf(" is %s, but must be a list of messages", cut(list))
	}
	for i, raw := range all {
		if why := messageFault(raw); why != "" {
			return fmt.Errorf(`[%d] is %s, but a message is {"role": "user", "content": "…"}: %s`, i, cut(raw), why)
		}
	}
	return nil
}

// messageFault says what is wrong with a message. Its content may be anything, because a host may
// have content that is not a text.
func messageFault(raw json.RawMessage) string {
	var m struct {
		Role      *string         `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			ID, Name string
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
		Name       string `json:"name"`
		Failed     bool   `json:"failed"`
	}
	err := json.Unmarshal(raw, &m)
	switch {
	case err != nil:
		return dialect.JSONMismatch(err)
	case m.Role == nil:
		return "role is missing"
	case !slices.Contains(roles, *m.Role):
		return "role must be one of " + strings.Join(roles, ", ")
	case rawjson.Missing(m.Content) && len(m.ToolCalls) == 0:
		return "content is missing"
	}
	return ""
}

// present returns the fields that have a value.
func present(fields ...hook.Field) hook.Object {
	return slices.DeleteFunc(hook.Object(fields), func(f hook.Field) bool { return f.Value == nil })
}

func garbled(format string, args ...any) error {
	return hook.Failure(hook.Garbled, fmt.Errorf(format, args...))
}
