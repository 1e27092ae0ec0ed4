package mine

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A translation is one stage at one point. show turns the event into the protocol's context, and
// apply turns a changed context into fields of the payload.
type translation struct {
	stage   string
	point   hook.Point
	command string // the field that a hook's pattern is matched against; "": every event matches
	show    func(p hook.Object) hookContext
	// apply is nil in the stage notify, whose plugins do not answer.
	apply func(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string)
}

func (t *translation) spot() dialect.Spot { return dialect.Spot{Hook: t.stage, Point: t.point} }

// native lists the four stages at their own points: docs/protocols/mine.md, row M32.
var native = []translation{
	{stage: stagePrevalidate, point: hook.CommandValidate, command: "command", show: ofCommand, apply: toNewCommand},
	{stage: stagePreexec, point: hook.CommandBefore, command: "command", show: ofCommand, apply: toNewCommand},
	{stage: stagePostexec, point: hook.CommandAfter, command: "command", show: ofCommand, apply: toRanCommand},
	{stage: stageNotify, point: hook.CommandDone, command: "command", show: ofCommand},
}

// nativeAt returns the entry of a stage. The manifest was checked, so there is one.
func nativeAt(stage string) *translation {
	return &native[slices.IndexFunc(native, func(t translation) bool { return t.stage == stage })]
}

// wanted reports whether one of the patterns matches the event's command. A command that a hook has
// changed to a path also matches by its base name. Otherwise a hook could hide a program from the
// guards after it. An event without a command, or with one that is not a string, matches every
// pattern, because a guard must not miss it.
func (t *translation) wanted(of []registration, p hook.Object) bool {
	name, ok := p.String(t.command)
	return !ok || anyMatches(of, name) || t.command == "command" && anyMatches(of, baseName(name))
}

// renames reports whether a plugin may change the command here: a command or a tool that has not
// run.
func (t *translation) renames() bool {
	return t.command != "" && (t.stage == stagePrevalidate || t.stage == stagePreexec)
}

// baseName returns a command without the directories of its path: docs/protocols/mine.md, row M64.
func baseName(command string) string {
	if command == "" {
		return ""
	}
	return filepath.Base(command)
}

func ofCommand(p hook.Object) hookContext {
	return hookContext{command: baseName(dialect.Plain(p.Get("command"))), args: texts(p.Get("args")),
		flags: flatten(object(p.Get("flags"))), result: p.Get("result"), timestamp: utc(p.Get("timestamp"))}
}

// toCommand sets the fields that the plugin changed. The timestamp cannot be changed.
func toCommand(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.command != nil && *c.command != shown.command {
		set = append(set, hook.Field{Name: "command", Value: rawjson.String(*c.command)})
	}
	if c.changesArgs(shown) {
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

// toNewCommand sets the fields of a command that has not run yet, which has no result.
func toNewCommand(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.changesResult(shown) {
		notes = append(notes, "the result is ignored: the command has not run yet")
	}
	rest := *c
	rest.result = nil
	set, _ = toCommand(p, shown, &rest)
	return set, notes
}

// toRanCommand sets the fields of a command that has run. It keeps the command's name, so that
// every later hook for that command is called.
func toRanCommand(p hook.Object, shown *hookContext, c *changes) (set hook.Object, notes []string) {
	if c.command != nil && *c.command != shown.command {
		notes = append(notes, "the command is ignored: it has run")
	}
	rest := *c
	rest.command = nil
	set, _ = toCommand(p, shown, &rest)
	return set, notes
}

// changesArgs reports whether the plugin changed the args.
func (c *changes) changesArgs(shown *hookContext) bool {
	return c.args != nil && !slices.Equal(c.args, shown.args)
}

// changesResult reports whether the plugin changed the result. A missing result was shown as null.
func (c *changes) changesResult(shown *hookContext) bool {
	return c.result != nil && !bytes.Equal(c.result, dialect.OrNull(shown.result))
}

// restored puts flags back into the object they were made from. A value that the plugin did not
// change keeps its JSON type. A changed value gets the old type if its text allows that. changed is
// false if all values are the same.
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

// retyped gives a changed flag the type of its old value: if the old value is 5, "7" becomes the
// number 7 and "many" stays a string.
func retyped(old, flag json.RawMessage) json.RawMessage {
	if rawjson.Missing(old) || old[0] == '"' {
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

// texts returns a list of the payload as strings, or nil if it is not a list.
func texts(raw json.RawMessage) []string {
	var items []json.RawMessage
	if rawjson.Missing(raw) || json.Unmarshal(raw, &items) != nil {
		return nil
	}
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = dialect.Plain(item)
	}
	return out
}

// object returns an object of the payload, or an empty one if it is not an object.
func object(raw json.RawMessage) hook.Object {
	o, err := rawjson.Parse(raw)
	if err != nil {
		return hook.Object{}
	}
	return o
}

// utc returns a payload's timestamp in RFC 3339 and UTC: docs/protocols/mine.md, row M34. It
// returns "" if it is not a timestamp.
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
