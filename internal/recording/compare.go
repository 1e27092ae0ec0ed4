package recording

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A comparer finds what a plugin does differently than in the recording.
type comparer struct {
	normal
	scrub *scrubber // removes secrets from the current texts of plugins: the recording has none
}

// changes returns the differences between the recorded side and the current one. The old value is
// the recorded one.
func (c *comparer) changes(then, now json.RawMessage) []hook.Change {
	return hook.Diff(c.of(then), c.of(now))
}

// step compares what a plugin was sent, what it answered, and the outcome. If these are the same,
// even in the ignored fields, step also compares the plugin's changes of the payload. After another
// answer the changes would always differ.
func (c *comparer) step(then, now *Step) []hook.Change {
	if all := c.changes(then.document(false), now.document(false)); len(all) > 0 {
		return all
	}
	whole := comparer{normal: normal{exact: c.exact, places: c.places}}
	if len(whole.changes(then.document(false), now.document(false))) > 0 {
		return nil
	}
	return c.changes(then.document(true), now.document(true))
}

// document returns a step in the form that is compared. With whole, it has the changes of the
// payload.
func (s *Step) document(whole bool) json.RawMessage {
	o := rawjson.Object{{Name: "verdict", Value: rawjson.String(string(s.Verdict))}}
	o = add(o, "sent", nonNull(s.Sent))
	o = add(o, "received", nonNull(s.Received))
	o = addText(o, "error", s.Error)
	o = addText(o, "error_kind", string(s.ErrorKind))
	o = addText(o, "on_failure", string(s.OnFailure))
	if whole && len(s.Diff) > 0 {
		o = add(o, "diff", marshal(s.Diff))
	}
	return o.JSON()
}

// nonNull returns a value, or nil for null: events of the journal have null for a missing value.
func nonNull(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// call compares the result of a tool, a method or a command.
func (c *comparer) call(then, now *Entry) []hook.Change {
	return c.changes(then.document(), now.document())
}

func (e *Entry) document() json.RawMessage {
	var o rawjson.Object
	o = add(o, "result", e.Result)
	o = addText(o, "error", e.Error)
	return addText(o, "error_kind", string(e.ErrorKind)).JSON()
}

func add(o rawjson.Object, name string, v json.RawMessage) rawjson.Object {
	if len(v) == 0 {
		return o
	}
	return append(o, rawjson.Field{Name: name, Value: v})
}

func addText(o rawjson.Object, name, text string) rawjson.Object {
	if text == "" {
		return o
	}
	return append(o, rawjson.Field{Name: name, Value: rawjson.String(text)})
}
