package hook

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Change is one difference between two payloads.
type Change struct {
	Path string          `json:"path"`          // a JSON Pointer (RFC 6901)
	Old  json.RawMessage `json:"old,omitempty"` // absent: the value was added
	New  json.RawMessage `json:"new,omitempty"` // absent: the value was removed
}

// mostChanges limits the number of changes listed inside one value. Above it, the diff has the
// whole value as one change.
const mostChanges = 100

// Diff lists the differences between two JSON objects, as a trace shows them. An argument that is
// not a JSON object counts as an empty one.
func Diff(before, after json.RawMessage) []Change {
	a, errA := parsePayload(before)
	b, errB := parsePayload(after)
	if errA != nil {
		a = nil
	}
	if errB != nil {
		b = nil
	}
	return diffObjects(a, b)
}

// diffObjects compares two payloads field by field, then inside the fields.
func diffObjects(before, after Object) []Change {
	d := differ{}
	for _, f := range before {
		if after.Get(f.Name) == nil {
			d.add(pointer("", f.Name), f.Value, nil)
		}
	}
	for _, f := range after {
		old := before.Get(f.Name)
		switch {
		case old == nil:
			d.add(pointer("", f.Name), nil, f.Value)
		case !rawjson.Equal(old, f.Value):
			from := len(d.changes)
			if d.values(pointer("", f.Name), decode(old), decode(f.Value)); len(d.changes) == from {
				d.add(pointer("", f.Name), old, f.Value) // equal after decoding: rawjson.Equal gave up, for example because a name is repeated
			}
		}
	}
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path string, old, new json.RawMessage) {
	d.changes = append(d.changes, Change{Path: path, Old: old, New: new})
}

func (d *differ) values(path string, a, b any) {
	from := len(d.changes)
	if !d.compareMembers(path, a, b) && !reflect.DeepEqual(a, b) {
		d.add(path, encode(a), encode(b))
	}
	if len(d.changes)-from > mostChanges {
		d.changes = d.changes[:from]
		d.add(path, encode(a), encode(b))
	}
}

// compareMembers compares the members of two maps, or of two lists. For any other pair of values it
// returns false.
func (d *differ) compareMembers(path string, a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.maps(path, x, y)
			return true
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.lists(path, x, y)
			return true
		}
	}
	return false
}

func (d *differ) maps(path string, a, b map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if other, ok := b[key]; ok {
			d.values(pointer(path, key), a[key], other)
		} else {
			d.add(pointer(path, key), encode(a[key]), nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			d.add(pointer(path, key), nil, encode(b[key]))
		}
	}
}

func (d *differ) lists(path string, a, b []any) {
	for i := range max(len(a), len(b)) {
		at := pointer(path, strconv.Itoa(i))
		switch {
		case i >= len(b):
			d.add(at, encode(a[i]), nil)
		case i >= len(a):
			d.add(at, nil, encode(b[i]))
		default:
			d.values(at, a[i], b[i])
		}
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(base, name string) string { return base + "/" + pointerEscapes.Replace(name) }

// encode is the inverse of decode, for values that came from it.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
