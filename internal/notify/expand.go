package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// maxExpanded bounds a setting after its variables are replaced. No address, token or title is
// nearly as long.
const maxExpanded = 8 << 10

// expand replaces ${NAME} with the value of the variable, and $${ with a literal ${. Every other
// dollar sign stands for itself, and values are not expanded again. The returned text also has the
// form that may be shown, with *** for each value. expand returns the values, too. An error names
// the variable, never its value.
func expand(s string, lookup func(string) (string, bool)) (t text, values []string, err error) {
	for rest := s; rest != "" && len(t.value) <= maxExpanded; {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			t.add(before, before)
			break
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			t.add(literal+"${", literal+"${")
			rest = after
			continue
		}
		t.add(before, before)
		var name string
		if name, rest, err = variable(after); err != nil {
			return text{}, nil, err
		}
		value, ok := lookup(name)
		if !ok {
			return text{}, nil, &unsetError{name}
		}
		t.add(value, mask)
		values = append(values, value)
	}
	if len(t.value) > maxExpanded {
		return text{}, nil, fmt.Errorf("is longer than %d bytes", maxExpanded)
	}
	return t, values, nil
}

// ErrUnset is in the error of a variable that has no value.
var ErrUnset = errors.New("the variable is not set")

// An unsetError names a variable that has no value.
type unsetError struct{ name string }

func (e *unsetError) Error() string {
	return "the variable " + e.name + " is neither in the secrets file nor in the environment"
}

// Unwrap makes errors.Is recognize the error as [ErrUnset].
func (e *unsetError) Unwrap() error { return ErrUnset }

// Fix says where to set the variable.
func (e *unsetError) Fix() string {
	return fmt.Sprintf("write %s = \"…\" into secrets.toml, or set %s in the environment", e.name, e.name)
}

// add appends to both forms of a text.
func (t *text) add(value, shown string) {
	t.value += value
	t.shown += shown
}

// variable splits "NAME}rest". Its errors do not quote the text before the brace, because a user
// may have written the secret itself there.
func variable(s string) (name, rest string, err error) {
	name, rest, ok := strings.Cut(s, "}")
	switch {
	case !ok:
		return "", "", errors.New("has a ${ without a } (write $${ for the characters themselves)")
	case !isName(name):
		return "", "", errors.New("has a ${…} that is not a variable name (write $${ for the characters themselves)")
	}
	return name, rest, nil
}

// isName reports whether s is a variable name of shells and of the secrets file.
func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// ExpandJSON replaces ${NAME} in every string of a JSON value, for notifiers that are plugins. The
// result contains secrets. hide removes the values of the variables from a text, for messages about
// the result.
func ExpandJSON(raw json.RawMessage, lookup func(string) (string, bool)) (expanded json.RawMessage, hide func(string) string, err error) {
	if lookup == nil || !bytes.Contains(raw, []byte("${")) {
		return raw, func(text string) string { return text }, nil
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // a float would change the last digits of a long number, such as the id of a channel
	if err := decoder.Decode(&v); err != nil {
		return nil, nil, err
	}
	var values []string
	v, err = expandIn(v, func(name string) (string, bool) {
		value, ok := lookup(name)
		values = append(values, value)
		return value, ok
	})
	if err != nil {
		return nil, nil, err
	}
	expanded, err = rawjson.Marshal(v)
	return expanded, newScrubber(values).hide, err
}

// expandIn expands the strings of v, however deep. The file that v comes from has a bounded depth.
func expandIn(v any, lookup func(string) (string, bool)) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		t, _, err := expand(v, lookup)
		return t.value, err
	case []any:
		for i := range v {
			if v[i], err = expandIn(v[i], lookup); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // so that the error is the same each time
			if v[name], err = expandIn(v[name], lookup); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
