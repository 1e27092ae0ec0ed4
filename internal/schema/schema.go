package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Schema is a compiled JSON Schema. A plugin without a schema has a nil Schema, which allows
// everything. A Schema is safe for concurrent use.
type Schema struct {
	root      *node
	raw       json.RawMessage
	fields    []string
	unchecked []Fault // patterns that cannot be checked
}

// JSON returns the schema as it was given to Compile, or nil.
func (s *Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.raw
}

// Fields returns the names of the schema's properties in their order.
func (s *Schema) Fields() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.fields)
}

// Unchecked lists the patterns of the schema that are not checked.
func (s *Schema) Unchecked() []Fault {
	if s == nil {
		return nil
	}
	return slices.Clone(s.unchecked)
}

// Misfits returns the errors of a value against a schema. A missing or invalid schema yields none,
// since that is the fault of its author and not of the value.
func Misfits(schema, value json.RawMessage) []Error {
	if len(schema) == 0 {
		return nil
	}
	s, faults := Compile(schema)
	if len(faults) > 0 {
		return nil
	}
	return s.Check(value)
}

// Check returns the ways in which a JSON value does not fit, in the order of their paths. It lists
// at most maxErrors; a last error says how many more there are.
func (s *Schema) Check(value json.RawMessage) []Error {
	if s == nil {
		return nil
	}
	doc, err := decode(value)
	if err != nil {
		return []Error{{Message: "is not valid JSON"}}
	}
	faults := badNumbers(doc, nil)
	if len(faults) == 0 {
		var ok bool
		if faults, ok = checkValue(s.root, doc); !ok {
			faults = []Fault{{Message: "the schema is too complex to be checked, or refers to itself without end"}}
		}
	}
	return inOrder(doc, faults)
}

// Unnamed returns the names of an object's fields about which the schema says nothing, sorted.
// Those that it allows in general, for example with "additionalProperties": true, do not count.
func (s *Schema) Unnamed(object json.RawMessage) []string {
	doc, err := decode(object)
	fields, ok := doc.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	seen := &evaluated{}
	if s != nil {
		c := check{workload: newWorkload()}
		if c.apply(s.root, doc, seen); c.over() {
			return nil // not all of the schema was applied
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(name string) bool { return seen.fields[name] })
}

// maxErrors limits what Check returns: in a long list each item can be wrong.
const maxErrors = 100

// inOrder turns faults into errors, sorts them by their paths, removes duplicates and cuts the
// list. It must sort, because the fields of an object are checked in no fixed order.
func inOrder(doc any, faults []Fault) []Error {
	var out []Error
	for _, f := range faults {
		path, steps := valuePath(doc, f.At)
		out = append(out, Error{path, steps, f.Message})
	}
	slices.SortFunc(out, func(a, b Error) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	out = slices.CompactFunc(out, func(a, b Error) bool { return a.Path == b.Path && a.Message == b.Message })
	if more := len(out) - maxErrors; more > 0 {
		out = append(out[:maxErrors], Error{Message: fmt.Sprintf("and %d more", more)})
	}
	return out
}
