package kaged

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// outside returns why a knob does not allow a value, or "" if it does. A value between two steps is
// allowed: the step only says how far a control moves.
func outside(k *dialect.Knob, value json.RawMessage) string {
	switch k.Type {
	case knobRange, knobIntRange:
		return outsideRange(k, value)
	case knobEnum:
		return outsideEnum(k, value)
	case knobBoolean:
		if string(value) != "true" && string(value) != "false" {
			return "must be true or false, got " + kindOf(value)
		}
	case knobText, knobMultiline, knobModelAlias, knobPath:
		return outsideText(k, value)
	}
	return ""
}

func outsideRange(k *dialect.Knob, value json.RawMessage) string {
	n, err := strconv.ParseFloat(string(value), 64)
	switch {
	case err != nil && k.Type == knobIntRange:
		return "must be a whole number, got " + kindOf(value)
	case err != nil:
		return "must be a number, got " + kindOf(value)
	case k.Type == knobIntRange && n != float64(int64(n)):
		return "must be a whole number"
	case k.Min != nil && n < *k.Min, k.Max != nil && n > *k.Max:
		return "must be " + rangeText(k)
	}
	return ""
}

// rangeText describes a range: "from 0 to 50", "at least 0", "at most 50".
func rangeText(k *dialect.Knob) string {
	switch {
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf("from %v to %v", *k.Min, *k.Max)
	case k.Min != nil:
		return fmt.Sprintf("at least %v", *k.Min)
	}
	return fmt.Sprintf("at most %v", *k.Max)
}

func outsideEnum(k *dialect.Knob, value json.RawMessage) string {
	same := func(v json.RawMessage) bool { return sameValue(v, value) }
	if len(k.Values) == 0 || slices.ContainsFunc(k.Values, same) {
		return ""
	}
	words := make([]string, len(k.Values))
	for i, v := range k.Values {
		words[i] = string(v)
	}
	return "must be one of " + strings.Join(words, ", ")
}

// sameValue reports whether two pieces of JSON have the same value: 1 and 1.0 do.
func sameValue(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

func outsideText(k *dialect.Knob, value json.RawMessage) string {
	s, ok := rawjson.Unquote(value)
	switch {
	case !ok:
		return "must be a string, got " + kindOf(value)
	case k.MaxLength != nil && utf8.RuneCountInString(s) > *k.MaxLength:
		return fmt.Sprintf("must have at most %d characters", *k.MaxLength)
	case len(k.Prefixes) > 0 && !slices.ContainsFunc(k.Prefixes, func(p string) bool { return strings.HasPrefix(s, p) }):
		return "must begin with " + document.Cut(strings.Join(k.Prefixes, " or "))
	}
	return ""
}

// kindOf names the type of a JSON value.
func kindOf(value json.RawMessage) string {
	switch {
	case rawjson.Missing(value):
		return "nothing"
	case value[0] == '"':
		return "a string"
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	case value[0] == 't', value[0] == 'f':
		return "true or false"
	}
	return "a number"
}

// withDefaults adds the defaults of knobs that have no value in config. If a path leads through a
// value that is not an object, the config is left alone: the check against the schema reports it.
func withDefaults(knobs []dialect.Knob, config json.RawMessage) (json.RawMessage, error) {
	top, err := object(config)
	if err != nil {
		return config, err
	}
	for i := range knobs {
		if k := &knobs[i]; k.Default != nil && k.Path != nil {
			top = withDefault(top, k.Path, k.Default)
		}
	}
	return top.JSON(), nil
}

func withDefault(o rawjson.Object, path []string, value json.RawMessage) rawjson.Object {
	if len(path) > 1 {
		inner, err := object(o.Get(path[0]))
		if err != nil {
			return o
		}
		value = withDefault(inner, path[1:], value).JSON()
	} else if o.Get(path[0]) != nil {
		return o
	}
	return o.With(field(path[0], value))
}

// valueAt returns the value at a path of names, or nil.
func valueAt(config json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		o, err := rawjson.Parse(config)
		if err != nil {
			return nil
		}
		config = o.Get(name)
	}
	return config
}
