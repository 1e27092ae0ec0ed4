package kaged

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A wiring is one kaged hook at one point of the hub: how the event becomes params, and how the
// result becomes a reply.
type wiring struct {
	hook  string // the protocol's name
	point hook.Point
	// ask makes the params. The payload is not to be modified.
	ask func(payload hook.Object) hook.Object
	// answer reads a result that is not null.
	answer func(result json.RawMessage, payload hook.Object) (hook.Reply, error)
}

func (w *wiring) spot() dialect.Spot { return dialect.Spot{Hook: w.hook, Point: w.point} }

// natively lists the four hooks of the protocol at their own points (seed 002: "Allowed:
// on_session_start, on_session_idle (primary-only), pre_compact, post_compact (per-agent)").
var natively = []wiring{
	{hook: "on_session_start", point: hook.SessionStart, ask: without("inject"), answer: injected},
	{hook: "on_session_idle", point: hook.SessionIdle, ask: without(), answer: nothing},
	{hook: "pre_compact", point: hook.CompactBefore, ask: without("summary"), answer: compacted},
	{hook: "post_compact", point: hook.CompactAfter, ask: without("retain", "inject"), answer: retained},
}

// without passes the event's fields on as they are, flat, less those in which plugins answer: the
// protocol's params do not have them.
func without(answers ...string) func(hook.Object) hook.Object {
	return func(payload hook.Object) hook.Object {
		isAnswer := func(f hook.Field) bool { return slices.Contains(answers, f.Name) }
		if !slices.ContainsFunc(payload, isAnswer) {
			return payload
		}
		return slices.DeleteFunc(slices.Clone(payload), isAnswer)
	}
}

// read turns a hook's result into a reply. null is "no opinion".
func (w *wiring) read(result json.RawMessage, payload hook.Object) (hook.Reply, error) {
	if isNull(result) {
		return hook.Reply{}, nil
	}
	return w.answer(result, payload)
}

// injected: on_session_start → {inject?}.
func injected(result json.RawMessage, _ hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	text, err := text(o, "inject")
	if err != nil || text == nil {
		return hook.Reply{}, err
	}
	return hook.Reply{Set: hook.Object{field("inject", text)}}, nil
}

// nothing: on_session_idle → null.
func nothing(result json.RawMessage, _ hook.Object) (hook.Reply, error) {
	return hook.Reply{Notes: []string{"answered " + cut(result) + ", where null is due: ignored"}}, nil
}

// compacted: pre_compact → null, or from the compactor {messages} or {summary}.
func compacted(result json.RawMessage, _ hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	messages, err := list(o, "messages")
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
		return hook.Reply{Verdict: hook.Stop, Set: set}, nil
	case len(o) == 0:
		return hook.Reply{Notes: []string{"answered {}: taken for null"}}, nil
	}
	return hook.Reply{}, garbled("the compactor's answer %s has neither messages nor summary", cut(result))
}

// observed: what an observer answers to pre_compact does not count.
func observed(result json.RawMessage, _ hook.Object) (hook.Reply, error) {
	return hook.Reply{Notes: []string{"an observer's answer does not count: " + cut(result)}}, nil
}

// retained: post_compact → {retain, inject?}.
func retained(result json.RawMessage, payload hook.Object) (hook.Reply, error) {
	o, err := resultObject(result)
	if err != nil {
		return hook.Reply{}, err
	}
	retain, err := list(o, "retain")
	if err != nil {
		return hook.Reply{}, err
	}
	inject, err := text(o, "inject")
	if err != nil {
		return hook.Reply{}, err
	}
	retain, err = lessRetained(retain, payload.Get("retain"))
	if err != nil {
		return hook.Reply{}, err
	}
	return hook.Reply{Set: present(field("retain", retain), field("inject", inject))}, nil
}

// lessRetained leaves out of a plugin's list the messages that plugins before it have retained:
// each is kept once.
func lessRetained(list, before json.RawMessage) (json.RawMessage, error) {
	if isNull(list) || isNull(before) {
		return list, nil
	}
	var mine, theirs []json.RawMessage
	if err := json.Unmarshal(list, &mine); err != nil {
		return nil, garbled("retain is %s, where a list is due", cut(list))
	}
	if err := json.Unmarshal(before, &theirs); err != nil {
		return list, nil // of another plugin's making: left for the host to judge
	}
	kept := slices.DeleteFunc(slices.Clone(mine), func(m json.RawMessage) bool {
		return slices.ContainsFunc(theirs, func(t json.RawMessage) bool { return sameValue(m, t) })
	})
	if len(kept) == len(mine) {
		return list, nil
	}
	return rawjson.List(kept), nil
}

func resultObject(result json.RawMessage) (rawjson.Object, error) {
	o, err := rawjson.Parse(result)
	if err != nil {
		return nil, garbled("the hook's result is %s, where an object or null is due", cut(result))
	}
	return o, nil
}

// text is a string field; nil where it is absent, null or empty.
func text(o rawjson.Object, name string) (json.RawMessage, error) {
	v := o.Get(name)
	if isNull(v) {
		return nil, nil
	}
	s, ok := rawjson.Unquote(v)
	if !ok {
		return nil, garbled("%s is %s, where a string is due", name, cut(v))
	}
	if s == "" {
		return nil, nil
	}
	return v, nil
}

// list is a list field; nil where it is absent or null.
func list(o rawjson.Object, name string) (json.RawMessage, error) {
	v := o.Get(name)
	if isNull(v) {
		return nil, nil
	}
	if v[0] != '[' {
		return nil, garbled("%s is %s, where a list is due", name, cut(v))
	}
	return v, nil
}

// present keeps the fields that have a value.
func present(fields ...hook.Field) hook.Object {
	return slices.DeleteFunc(hook.Object(fields), func(f hook.Field) bool { return f.Value == nil })
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

func garbled(format string, args ...any) error {
	return hook.Failure(hook.Garbled, fmt.Errorf(format, args...))
}
