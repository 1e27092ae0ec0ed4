package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A typeSet is a set of JSON's types.
type typeSet int

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeNumber
	typeInteger // a number without a fraction, including 1.0
	typeString
	typeArray
	typeObject
)

// typeNames has the name of each type, in the order of their bits.
var typeNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

// typeNamed returns the type of that name, or 0.
func typeNamed(name string) typeSet {
	for i, n := range typeNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// String names the types, as in "null or integer".
func (t typeSet) String() string {
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// typeOf returns the type of a value. For a number it is always typeNumber.
func typeOf(v any) typeSet {
	switch v.(type) {
	case bool:
		return typeBoolean
	case json.Number:
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	}
	return typeNull
}

// has reports whether a value is of one of the types.
func (t typeSet) has(v any) bool {
	if t&typeOf(v) != 0 {
		return true
	}
	n, ok := v.(json.Number)
	return ok && t&typeInteger != 0 && isInteger(n)
}

// failType reports a value of the wrong type.
func (r *report) failType(v any, want typeSet) {
	if r.fails() {
		r.add(fmt.Sprintf("must be of type %s, is %s", want, typeOf(v)))
	}
}
