package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A Value is a value that fits a schema.
type Value struct {
	Size string // Minimal, Full or Boundary
	JSON json.RawMessage
}

// The sizes of values.
const (
	Minimal  = "minimal"  // only required fields, as small as allowed
	Full     = "full"     // every field, with a usual value
	Boundary = "boundary" // every field, as large or odd as allowed
)

// Names returns a text for a field by its name: a schema cannot say that a text is a path, but the
// name of the field may. It is called for fields that may be any text, except for the size
// Boundary.
type Names func(field string) (text string, ok bool)

// All makes values that fit a schema: a small one, a whole one, and one at its limits. It leaves
// out values that do not fit, so some schemas have none. names may be nil.
func All(raw json.RawMessage, names Names) []Value {
	doc, compiled, ok := read(raw)
	if !ok {
		return nil
	}
	var out []Value
	for _, size := range []string{Minimal, Full, Boundary} {
		value := generate(doc, size, names)
		if value == nil || len(compiled.Check(value)) > 0 {
			continue
		}
		same := func(v Value) bool { return bytes.Equal(v.JSON, value) }
		if !slices.ContainsFunc(out, same) {
			out = append(out, Value{size, value})
		}
	}
	return out
}

// Object makes one object for a person to start from: a whole one if that fits the schema,
// otherwise a small one. If neither fits, it returns the small one anyway.
func Object(raw json.RawMessage, names Names) json.RawMessage {
	last := json.RawMessage(`{}`)
	doc, compiled, ok := read(raw)
	if !ok {
		return last
	}
	for _, size := range []string{Full, Minimal} {
		value := generate(doc, size, names)
		if len(value) == 0 || value[0] != '{' {
			continue
		}
		if last = value; len(compiled.Check(value)) == 0 {
			break
		}
	}
	return last
}

// read parses a schema. Without a schema, any object is allowed.
func read(raw json.RawMessage) (doc any, compiled *schema.Schema, ok bool) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	compiled, faults := schema.Compile(raw)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	ok = len(faults) == 0 && d.Decode(&doc) == nil
	return doc, compiled, ok
}

// generate makes one value. It returns nil if the value cannot be written as JSON.
func generate(doc any, size string, names Names) json.RawMessage {
	g := &generator{root: doc, size: size, names: names, left: mostValues}
	value, err := json.Marshal(g.value(doc, 0))
	if err != nil {
		return nil
	}
	return value
}

// A generator makes one value.
type generator struct {
	root  any
	size  string
	names Names
	left  int // how many more values it makes
}

// mostValues limits the values for one schema: a schema that refers to itself from many places
// would have no end.
const mostValues = 5000

// deepest limits schemas that refer to themselves.
const deepest = 12

// object is a schema, or a part of one.
type object = map[string]any

// value returns a value for a schema.
func (g *generator) value(s any, depth int) any {
	o, ok := s.(object)
	g.left--
	if !ok || depth > deepest || g.left < 0 {
		return "text" // true allows anything, and nothing fits false
	}
	o = g.flat(o, depth)
	if c, ok := o["const"]; ok {
		return c
	}
	if list, ok := o["enum"].([]any); ok && len(list) > 0 {
		if g.size == Boundary {
			return list[len(list)-1]
		}
		return list[0]
	}
	if given, ok := example(o); ok && g.size == Full {
		return given
	}
	switch g.kind(o) {
	case "object":
		return g.object(o, depth)
	case "array":
		return g.list(o, depth)
	case "integer":
		return g.number(o, true)
	case "number":
		return g.number(o, false)
	case "boolean":
		return g.size != Minimal
	case "null":
		return nil
	}
	return g.text(o)
}

// example returns the example or default that a schema has.
func example(o object) (any, bool) {
	if list, ok := o["examples"].([]any); ok && len(list) > 0 {
		return list[0], true
	}
	v, ok := o["default"]
	return v, ok
}

// flat follows references, and merges all schemas of allOf and the first one of anyOf and oneOf.
func (g *generator) flat(o object, depth int) object {
	for ; depth < deepest; depth++ {
		ref, ok := o["$ref"].(string)
		target, _ := g.at(ref).(object)
		if !ok || target == nil {
			break
		}
		o = merge(target, o)
		delete(o, "$ref")
		if next, again := target["$ref"]; again {
			o["$ref"] = next
		}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := o[word].([]any)
		if word != "allOf" && len(list) > 1 {
			list = list[:1]
		}
		for _, part := range list {
			if p, ok := part.(object); ok && depth < deepest {
				o = merge(o, g.flat(p, depth+1))
			}
		}
	}
	return o
}

// merge combines two objects: both lists of required fields count, and their properties are joined.
func merge(a, b object) object {
	out := maps.Clone(a)
	for k, v := range b {
		switch old, had := out[k]; {
		case had && k == "properties":
			if x, ok := old.(object); ok {
				if y, ok := v.(object); ok {
					v = merge(x, y)
				}
			}
		case had && k == "required":
			x, _ := old.([]any)
			y, _ := v.([]any)
			v = append(slices.Clone(x), y...)
		}
		out[k] = v
	}
	return out
}

// at returns the target of a reference within the schema, or nil.
func (g *generator) at(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	here := g.root
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		o, _ := here.(object)
		here = o[step]
	}
	return here
}

// kind returns the type that a value should have.
func (g *generator) kind(o object) string {
	switch t := o["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			word, _ := t[0].(string)
			if g.size == Boundary {
				word, _ = t[len(t)-1].(string)
			}
			return word
		}
	}
	for _, hint := range [][2]string{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"minimum", "number"}, {"maximum", "number"}} {
		if o[hint[0]] != nil {
			return hint[1]
		}
	}
	return "string"
}

func (g *generator) object(o object, depth int) any {
	out := object{}
	properties, _ := o["properties"].(object)
	required, _ := o["required"].([]any)
	for name, s := range properties {
		if s == false || g.size == Minimal && !slices.Contains(required, any(name)) {
			continue
		}
		if depth < deepest-2 || slices.Contains(required, any(name)) {
			out[name] = g.named(name, s, depth+1)
		}
	}
	for _, r := range required {
		if name, ok := r.(string); ok && out[name] == nil && properties[name] == nil {
			out[name] = g.value(o["additionalProperties"], depth+1)
		}
	}
	for i := 0; len(out) < count(o, "minProperties", 0) && i < most; i++ {
		out["field"+strconv.Itoa(i)] = g.value(o["additionalProperties"], depth+1)
	}
	return out
}

// named returns a value for a field. If the field may be any text, and the size is not Boundary, it
// returns the text that names has for the field, if there is one.
func (g *generator) named(name string, s any, depth int) any {
	v := g.value(s, depth)
	_, isText := v.(string)
	o, _ := s.(object)
	free := isText && o["enum"] == nil && o["const"] == nil && o["pattern"] == nil && o["format"] == nil && o["maxLength"] == nil
	if _, given := example(o); !free || given || g.size == Boundary || g.names == nil {
		return v
	}
	if text, ok := g.names(name); ok && utf8.RuneCountInString(text) >= count(o, "minLength", 0) {
		return text
	}
	return v
}

// most limits lists, and fields that only minProperties demands.
const most = 20

func (g *generator) list(o object, depth int) any {
	n := count(o, "minItems", 0)
	switch limit := count(o, "maxItems", max(n, 3)); {
	case g.size == Full:
		n = max(n, min(1, limit))
	case g.size == Boundary:
		n = min(limit, max(n, most))
	}
	out := make([]any, 0, min(n, 10*most))
	prefix, _ := o["prefixItems"].([]any)
	for i := range min(n, 10*most) {
		s := o["items"]
		if i < len(prefix) {
			s = prefix[i]
		}
		out = append(out, g.value(s, depth+1))
	}
	if o["uniqueItems"] == true {
		out = distinct(out)
	}
	return out
}

// distinct makes the items of a list different, as far as that is easy.
func distinct(list []any) []any {
	var out []any
	for i, v := range list {
		switch x := v.(type) {
		case string:
			if i > 0 {
				v = fmt.Sprintf("%s%d", x, i)
			}
		case json.Number, int64, float64:
			v = i + 1
		default:
			if i > 0 {
				continue
			}
		}
		out = append(out, v)
	}
	return out
}

// count returns a keyword that is a number.
func count(o object, word string, otherwise int) int {
	n, ok := o[word].(json.Number)
	if !ok {
		return otherwise
	}
	i, err := strconv.Atoi(n.String())
	if err != nil {
		return otherwise
	}
	return i
}
