package mine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one stage at one point: the event as the protocol's context, and what a changed
// context sets in the payload.
type translation struct {
	stage   string
	point   hook.Point
	command string // the field that a hook's pattern is about; "": the event has no such thing
	show    func(p hook.Object) hookContext
	// apply is nil in the stage notify, whose plugins answer nothing.
	apply func(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string)
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.stage, Point: t.point} }

// native are the four stages of seed 001 at their own points.
var native = []translation{
	{stage: stagePrevalidate, point: hook.CommandValidate, command: "command", show: ofCommand, apply: toCommand},
	{stage: stagePreexec, point: hook.CommandBefore, command: "command", show: ofCommand, apply: toCommand},
	{stage: stagePostexec, point: hook.CommandAfter, command: "command", show: ofCommand, apply: toCommand},
	{stage: stageNotify, point: hook.CommandDone, command: "command", show: ofCommand},
}

// nativeAt is a stage at its own point. The manifest was checked: there is one.
func nativeAt(stage string) *translation {
	return &native[slices.IndexFunc(native, func(t translation) bool { return t.stage == stage })]
}

func ofCommand(p hook.Object) hookContext {
	return hookContext{command: dialect.Plain(p.Get("command")), args: texts(p.Get("args")),
		flags: flatten(object(p.Get("flags"))), result: p.Get("result"), timestamp: utc(p.Get("timestamp"))}
}

// toCommand sets what the plugin changed, and nothing else; the timestamp is not its to change.
func toCommand(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.command != nil && *c.command != shown.command {
		set = append(set, hook.Field{Name: "command", Value: rawjson.String(*c.command)})
	}
	if c.args != nil && !slices.Equal(c.args, shown.args) {
		set = append(set, hook.Field{Name: "args", Value: list(c.args)})
	}
	if flags, changed := restored(object(p.Get("flags")), c.flags); changed {
		set = append(set, hook.Field{Name: "flags", Value: flags})
	}
	if c.changesResult(shown) {
		set = append(set, hook.Field{Name: "result", Value: c.result})
	}
	return set, nil
}

// changesResult: null is what the plugin was shown where there is no result.
func (c *changes) changesResult(shown *hookContext) bool {
	return c.result != nil && !bytes.Equal(c.result, dialect.OrNull(shown.result))
}

// restored puts flags back into the object they were made from. A value that the plugin did not
// touch keeps its JSON type; one that it changed takes it where it can. changed is false where
// nothing is.
func restored(was, flags hook.Object) (now json.RawMessage, changed bool) {
	if flags == nil {
		return nil, false
	}
	changed = len(flags) != len(was)
	out := make(hook.Object, len(flags))
	for i, f := range flags {
		old := was.Get(f.Name)
		same := old != nil && dialect.Plain(old) == dialect.Plain(f.Value)
		changed = changed || !same
		if same {
			f.Value = old
		} else {
			f.Value = retyped(old, f.Value)
		}
		out[i] = f
	}
	return out.JSON(), changed
}

// retyped gives a changed flag the type of the value it was made from: 5 that became "7" is 7, and
// 5 that became "many" is a string.
func retyped(old, flag json.RawMessage) json.RawMessage {
	if dialect.Missing(old) || old[0] == '"' {
		return flag
	}
	if v, err := rawjson.CleanWithin([]byte(dialect.Plain(flag)), rawjson.MaxForeign); err == nil && kind(v) == kind(old) {
		return v
	}
	return flag
}

// kind tells JSON's types apart by their first character.
func kind(v json.RawMessage) byte {
	switch c := v[0]; c {
	case '{', '[', '"', 'n':
		return c
	case 't', 'f':
		return 't'
	default:
		return '0'
	}
}

// texts is a list of the payload as strings; what is no list is empty.
func texts(raw json.RawMessage) []string {
	var items []json.RawMessage
	if dialect.Missing(raw) || json.Unmarshal(raw, &items) != nil {
		return nil
	}
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = dialect.Plain(item)
	}
	return out
}

// object is an object of the payload; what is none is empty.
func object(raw json.RawMessage) hook.Object {
	o, err := rawjson.Parse(raw)
	if err != nil {
		return hook.Object{}
	}
	return o
}

// utc is a payload's timestamp: "timestamps are RFC 3339 UTC". What is none is "".
func utc(raw json.RawMessage) string {
	text := dialect.Plain(raw)
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return ""
	case strings.HasSuffix(text, "Z"):
		return text
	}
	return t.UTC().Format(time.RFC3339)
}
