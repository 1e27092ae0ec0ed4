package hook

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// merge sets the fields of a reply in the payload, and records in the step whether that changed
// anything. A value that is only written differently (escapes, order of fields) is not a change,
// and the payload keeps the old bytes.
func (f *firing) merge(reply *Reply, step *Step) {
	var set Object
	for _, field := range reply.Set {
		old := f.event.Payload.Get(field.Name)
		if slices.Contains(f.spec.Joined, field.Name) {
			field.Value = join(old, field.Value)
		}
		if !rawjson.Equal(old, field.Value) {
			set = append(set, field)
		}
	}
	if len(set) == 0 {
		return
	}
	step.before = f.event.Payload
	f.event.Payload, f.event.raw = f.event.Payload.With(set...), nil
	step.after = f.event.Payload
	step.Changed = true
}

// join adds a value to the old one. Two texts are joined with a blank line between, two lists end
// to end. Any other value except null replaces the old one.
func join(old, add json.RawMessage) json.RawMessage {
	if a, ok := rawjson.Unquote(old); ok {
		if b, ok := rawjson.Unquote(add); ok {
			return joinTexts(a, b)
		}
	}
	if isList(old) && isList(add) {
		return joinLists(old, add)
	}
	if rawjson.Missing(add) && !rawjson.Missing(old) {
		return old
	}
	return add
}

func joinTexts(a, b string) json.RawMessage {
	switch {
	case a == "":
		return rawjson.String(b)
	case b == "":
		return rawjson.String(a)
	}
	return rawjson.String(a + "\n\n" + b)
}

func joinLists(a, b json.RawMessage) json.RawMessage {
	if len(a) == len("[]") {
		return b
	}
	if len(b) == len("[]") {
		return a
	}
	joined := append(slices.Clone(a[:len(a)-1]), ',')
	return append(joined, b[1:]...)
}

func isList(v []byte) bool { return len(v) > 0 && v[0] == '[' }

// decode returns raw JSON as Go values. The bytes were validated when they were received.
func decode(v json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return string(v)
	}
	return out
}
