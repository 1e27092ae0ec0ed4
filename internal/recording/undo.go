package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// undo returns the payload as it was before the changes, which are a list in the form of
// [hook.Diff]. Fields stay in their order.
func undo(payload json.RawMessage, changes []hook.Change) (json.RawMessage, error) {
	before := payload
	var err error
	for _, c := range slices.Backward(changes) { // elements that were added at the end of a list are removed from the end
		if c.Old == nil && err == nil {
			before, err = undoOne(before, c)
		}
	}
	for _, c := range changes { // elements that were removed from the end of a list come back in order
		if c.Old != nil && err == nil {
			before, err = undoOne(before, c)
		}
	}
	if err == nil && !sameChanges(hook.Diff(before, payload), changes) {
		err = errors.New("the stored changes do not fit the payload")
	}
	return before, err
}

func undoOne(payload json.RawMessage, c hook.Change) (json.RawMessage, error) {
	parts := strings.Split(c.Path, "/")
	if len(parts) < 2 || parts[0] != "" {
		return nil, fmt.Errorf("%.80q is not a place in a payload", c.Path)
	}
	for i := range parts {
		parts[i] = pointerUnescapes.Replace(parts[i])
	}
	return undoAt(payload, parts[1:], &c)
}

var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

var errNoPlace = errors.New("the payload has no such place")

// undoAt returns a value with the change at a path below it undone.
func undoAt(v json.RawMessage, path []string, c *hook.Change) (json.RawMessage, error) {
	if len(path) == 0 {
		return c.Old, nil
	}
	if bytes.HasPrefix(v, []byte("[")) {
		return undoInList(v, path, c)
	}
	object, err := rawjson.ParseWithin(v, mostNested)
	if err != nil {
		return nil, errNoPlace
	}
	old := object.Get(path[0])
	if old == nil && (c.New != nil || len(path) > 1) {
		return nil, errNoPlace
	}
	inner, err := undoAt(old, path[1:], c)
	switch {
	case err != nil:
		return nil, err
	case inner == nil:
		object = slices.DeleteFunc(object, func(f rawjson.Field) bool { return f.Name == path[0] })
	default:
		object = object.With(rawjson.Field{Name: path[0], Value: inner})
	}
	return object.JSON(), nil
}

func undoInList(v json.RawMessage, path []string, c *hook.Change) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, err
	}
	i, err := strconv.Atoi(path[0])
	last := len(path) == 1
	switch {
	case err != nil || i < 0:
		return nil, errNoPlace
	case last && c.New == nil && i == len(list): // it was removed
		list = append(list, c.Old)
	case last && c.Old == nil && i == len(list)-1: // it was added
		list = list[:i]
	case i >= len(list):
		return nil, errNoPlace
	default:
		if list[i], err = undoAt(list[i], path[1:], c); err != nil {
			return nil, err
		}
		if list[i] == nil { // an element cannot be added in the middle
			return nil, errNoPlace
		}
	}
	return rawjson.List(list), nil
}

// mostNested is how deep a payload of the journal may be: the limit of encoding/json.
const mostNested = 10_000

// sameChanges reports whether two lists are equal, in any spelling of their JSON.
func sameChanges(a, b []hook.Change) bool {
	return slices.EqualFunc(a, b, func(a, b hook.Change) bool {
		return a.Path == b.Path && rawjson.Equal(a.Old, b.Old) && rawjson.Equal(a.New, b.New)
	})
}
