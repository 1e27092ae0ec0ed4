package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Schema is a compiled JSON Schema. A nil Schema is that of a plugin without one: it allows
// everything. It is safe for concurrent use.
type Schema struct {
	root      *node
	raw       json.RawMessage
	fields    []string
	unchecked []Fault // patterns that cannot be checked here
}

// JSON returns the schema as it was given to Compile; nil where there is none.
func (s *Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s.raw
}

// Fields returns the names of the schema's properties, as they were written, in order.
func (s *Schema) Fields() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.fields)
}

// Unchecked lists the patterns of the schema that nothing is checked against.
func (s *Schema) Unchecked() []Fault {
	if s == nil {
		return nil
	}
	return slices.Clone(s.unchecked)
}

// Misfits are the errors of a value that is held against a schema. A schema that is missing, or
// cannot be used, finds none: that is the fault of whoever wrote it, and not one that the value
// could mend.
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

// Check reports every way in which a JSON value does not fit, in the order of their paths.
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
			faults = []Fault{{Message: "the schema is too complex to check this against, or refers to itself without end"}}
		}
	}
	return inOrder(doc, faults)
}

// maxErrors bounds what Check returns: a long list can be wrong in each item.
const maxErrors = 100

// inOrder puts faults in the order of their paths, each once. The fields of an object are checked
// in no order.
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
