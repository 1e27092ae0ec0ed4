package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxBytes and maxValues limit a schema. Usual ones have some kilobytes and some hundred fields.
const (
	maxBytes  = 256 << 10
	maxValues = 2000
)

// Compile compiles the JSON of a schema. The caller must not change raw afterwards. If there are
// faults, the schema is nil.
func Compile(raw json.RawMessage) (*Schema, []Fault) {
	doc, faults := parse(raw)
	if len(faults) > 0 {
		return nil, faults
	}
	patterns := newPatternEngine()
	root, faults := compile(doc, patterns)
	if len(faults) > 0 {
		return nil, sorted(faults)
	}
	return &Schema{
		root:      root,
		raw:       raw,
		fields:    fieldNames(raw),
		unchecked: patterns.unchecked(doc),
	}, nil
}

// parse reads a schema and checks its size, before anything else is done with it.
func parse(raw json.RawMessage) (doc any, faults []Fault) {
	if len(raw) > maxBytes {
		return nil, []Fault{{Message: fmt.Sprintf("is too large: over %d KiB", maxBytes>>10)}}
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, []Fault{{Message: "is not valid JSON: " + shorten(err.Error())}}
	}
	if n := size(doc); n > maxValues {
		return nil, []Fault{{Message: fmt.Sprintf("is too large: %d values, at most %d", n, maxValues)}}
	}
	return doc, sorted(badNumbers(doc, nil))
}

// decode reads one JSON value, with numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

// compile makes a node of a document, or returns why it is not a schema. It checks addresses, then
// keywords, then references, and returns the faults of the first of these steps that finds any.
func compile(doc any, patterns *patternEngine) (*node, []Fault) {
	x := newIndex(doc)
	if len(x.faults) > 0 {
		return nil, x.faults
	}
	if faults := checkSchema(doc, "", x.home("").draft, patterns); len(faults) > 0 {
		return nil, faults
	}
	b := &builder{index: x, patterns: patterns, nodes: make(map[string]*node), metas: make(map[draft]*node)}
	root := b.at("")
	b.dynamics()
	return root, b.faults
}

// checkSchema checks that the value at a place of a document is a schema.
func checkSchema(v any, at string, d draft, patterns *patternEngine) []Fault {
	m := metaCheck{draft: d, patterns: patterns}
	for _, step := range steps(at) {
		m.enter(step)
	}
	m.schema(v)
	return m.faults
}

// sorted sorts faults by their paths and removes duplicates.
func sorted(faults []Fault) []Fault {
	slices.SortFunc(faults, byPlace)
	return slices.CompactFunc(faults, func(a, b Fault) bool { return byPlace(a, b) == 0 })
}
