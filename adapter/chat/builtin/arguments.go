package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// decode reads a call's arguments. It accepts numbers and booleans written as strings, and treats
// null as absent. It ignores arguments that the tool does not have, because plugins add some of
// their own (a tag, a ticket). It mentions them only if a required one is missing: then the
// argument probably has a wrong name.
func decode(raw json.RawMessage, parameters string, args any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return fmt.Errorf("the arguments are not a JSON object: %.80q", raw)
	}
	if err := checkDuplicates(raw, given); err != nil {
		return err
	}
	if half := rawjson.Half(raw); half != nil { // a Go string cannot hold it: a file would get U+FFFD
		return fmt.Errorf("the arguments contain %s, which is half a character: write the whole character", half)
	}
	if err := checkRequired(given, parameters); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, args); err != nil {
		return explain(err)
	}
	return nil
}

// checkDuplicates returns an error if two arguments have the same name, ignoring case.
// encoding/json would take the last of them, but the user may have been shown the other.
func checkDuplicates(raw json.RawMessage, given map[string]json.RawMessage) error {
	if len(given) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(given))
	fields := rawjson.Fields(raw, rawjson.Space(raw, 0))
	for fields.Next() {
		name := strings.ToLower(strings.ToUpper(fields.Name)) // as encoding/json folds names
		if seen[name] {
			return fmt.Errorf("the argument %s is given twice", quoted(name))
		}
		seen[name] = true
	}
	return fields.Err
}

// checkRequired returns an error if a required argument is missing.
func checkRequired(given map[string]json.RawMessage, parameters string) error {
	var schema struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal([]byte(parameters), &schema); err != nil {
		return &hostError{fmt.Errorf("schema of a built-in tool: %w", err)}
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range schema.Required {
		if value, ok := find(given, name); !ok || string(value) == "null" {
			return fmt.Errorf("the argument %q is missing%s", name, unknownHint(given, known))
		}
	}
	return nil
}

// find looks up a name as encoding/json does: exactly, or else ignoring case.
func find(given map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if value, ok := given[name]; ok {
		return value, true
	}
	for n, value := range given {
		if strings.EqualFold(n, name) {
			return value, true
		}
	}
	return nil, false
}

// unknownHint names an argument that the tool does not have, and the arguments that it has.
func unknownHint(given map[string]json.RawMessage, known []string) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			hint := nearest.Word(name, known)
			if hint != "" {
				return fmt.Sprintf("; %s is not an argument: did you mean %q?", quoted(name), hint)
			}
			return fmt.Sprintf("; %s is not an argument, these are: %s", quoted(name), strings.Join(known, ", "))
		}
	}
	return ""
}

// explain names the argument that has the wrong type, in the words of JSON.
func explain(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("the argument %q must be a %s, not %s", wrong.Field, wrong.Type.Kind(), wrong.Value)
}

// A number is a JSON number, or a string with a number in it.
type number float64

// UnmarshalJSON reads a number as models write it.
func (n *number) UnmarshalJSON(raw []byte) error {
	text := unquoted(raw)
	if text == "null" || text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value != value { // strconv parses "NaN"
		return fmt.Errorf("%s is not a number", quoted(text))
	}
	*n = number(value)
	return nil
}

// whole returns the number as a count between 0 and top.
func (n number) whole(top int) int {
	return int(min(max(n, 0), number(top)))
}

// A flag is a JSON boolean, or a string with a boolean in it.
type flag bool

// UnmarshalJSON reads a boolean as models write it.
func (f *flag) UnmarshalJSON(raw []byte) error {
	switch text := strings.ToLower(unquoted(raw)); text {
	case "true", "yes", "1":
		*f = true
	case "false", "no", "0", "null", "":
		*f = false
	default:
		return fmt.Errorf("%s is neither true nor false", quoted(text))
	}
	return nil
}

// unquoted returns the text of a scalar.
func unquoted(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return strings.TrimSpace(text)
	}
	return string(raw)
}
