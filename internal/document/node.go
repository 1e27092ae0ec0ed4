package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Position is a place in a file. Both numbers count from 1; they are zero if there is no file.
type Position struct{ Line, Column int }

// A Kind is the type of a value.
type Kind int

// The kinds. Only TOML has times.
const (
	Null Kind = iota
	Bool
	Number
	String
	Time
	List
	Map
)

// A node is a value and its place. TOML and YAML are both converted to nodes. The format matters
// afterwards only for the words of messages.
type node struct {
	kind   Kind
	key    Position // of its key, or of the item itself in a list
	at     Position
	value  any    // of a scalar: string, bool, int64, float64, digits, or one of TOML's times
	plain  string // of a scalar without quotes in YAML: its text in the file
	items  []*node
	names  []string // the keys of a map, in the order of the file
	fields map[string]*node
}

// digits is a number in JSON syntax, with the digits of the file.
type digits string

// A format says how a file is written, and so which words its author knows.
type format int

const (
	tomlFormat format = iota
	yamlFormat
)

// kindNames are the kinds for messages such as "must be …, got …".
var kindNames = [...]map[Kind]string{
	tomlFormat: {Null: "nothing", Bool: "true or false", Number: "a number", String: "a string", Time: "a date or time", List: "an array", Map: "a table"},
	yamlFormat: {Null: "nothing", Bool: "a boolean", Number: "a number", String: "a string", List: "a list", Map: "a mapping"},
}

// name returns the format's word for the value.
func (n *node) name(f format) string {
	switch n.value.(type) {
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	}
	return kindNames[f][n.kind]
}

// add appends a field to a map.
func (n *node) add(name string, field *node) {
	if n.fields == nil {
		n.fields = make(map[string]*node)
	}
	n.names = append(n.names, name)
	n.fields[name] = field
}

// step returns the value at a key or an index, or nil.
func (n *node) step(part any) *node {
	switch part := part.(type) {
	case string:
		return n.fields[part]
	case int:
		if part >= 0 && part < len(n.items) {
			return n.items[part]
		}
	}
	return nil
}

// scalar returns the node of a value that is neither a list nor a map.
func scalar(v any, key, at Position) *node {
	n := &node{kind: Time, key: key, at: at, value: v}
	switch v.(type) {
	case nil:
		n.kind = Null
	case bool:
		n.kind = Bool
	case int64, float64, digits:
		n.kind = Number
	case string:
		n.kind = String
	}
	return n
}

// appendJSON appends a value as compact JSON, with keys in the order of the file and numbers with
// the digits of the file.
func (n *node) appendJSON(dst []byte) []byte {
	switch v := n.value.(type) {
	case string:
		return rawjson.AppendString(dst, v)
	case digits:
		return append(dst, v...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	switch n.kind {
	case Time:
		return rawjson.AppendString(dst, timeText(n.value))
	case List:
		dst = append(dst, '[')
		for i, item := range n.items {
			dst = item.appendJSON(comma(dst, i))
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i, name := range n.names {
			dst = append(rawjson.AppendString(comma(dst, i), name), ':')
			dst = n.fields[name].appendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func comma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// asJSON returns a value as encoding/json would decode it. TOML's times become strings. A value
// without a counterpart in JSON is an error.
func (n *node) asJSON(depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch n.kind {
	case Map:
		out := make(map[string]any, len(n.names))
		for name, field := range n.fields {
			converted, err := field.asJSON(depth - 1)
			if err != nil {
				return nil, err
			}
			out[name] = converted
		}
		return out, nil
	case List:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			converted, err := item.asJSON(depth - 1)
			if err != nil {
				return nil, err
			}
			out[i] = converted
		}
		return out, nil
	case Time:
		return timeText(n.value), nil
	}
	switch v := n.value.(type) {
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, fmt.Errorf("%v has no counterpart in JSON", v)
		}
	case digits:
		return json.Number(v), nil
	}
	return n.value, nil
}

// timeText formats a TOML date or time as in RFC 3339.
func timeText(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case fmt.Stringer: // toml.LocalDate, LocalTime, LocalDateTime
		return v.String()
	}
	return fmt.Sprint(v)
}

// Of returns a table of values that do not come from a file, or were read before. Its problems have
// no place. name is shown in place of the file.
func Of(name string, values map[string]any) *Table {
	r := &reading{file: name, root: fromGo(values)}
	return r.top()
}

// fromGo converts values as TOML, JSON and Go programs have them. null means absent.
func fromGo(v any) *node {
	switch v := v.(type) {
	case map[string]any:
		n := &node{kind: Map}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				n.add(name, fromGo(v[name]))
			}
		}
		return n
	case []any:
		n := &node{kind: List}
		for _, item := range v {
			n.items = append(n.items, fromGo(item))
		}
		return n
	case []string:
		n := &node{kind: List}
		for _, item := range v {
			n.items = append(n.items, fromGo(item))
		}
		return n
	case int:
		return scalar(int64(v), Position{}, Position{})
	case json.Number:
		return scalar(digits(v), Position{}, Position{})
	case float64: // JSON has whole numbers as float64 too
		const exact = 1 << 53 // a larger float64 may stand for several whole numbers
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return scalar(int64(v), Position{}, Position{})
		}
	}
	return scalar(v, Position{}, Position{})
}
