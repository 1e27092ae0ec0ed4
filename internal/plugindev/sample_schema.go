package plugindev

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// arguments makes up the arguments of a tool from its schema: every field, or where that does not fit, those that are
// required. What the schema's author gave as an example or a default goes first.
func arguments(raw json.RawMessage) json.RawMessage {
	compiled, _ := schema.Compile(raw)
	var last json.RawMessage
	for _, all := range []bool{true, false} {
		g := &generator{root: raw, all: all, left: mostValues}
		last = g.value("", raw, 0)
		if last[0] == '{' && len(compiled.Check(last)) == 0 {
			return last
		}
	}
	if last[0] != '{' {
		return json.RawMessage(`{}`)
	}
	return last // the author sees what does not fit
}

// A generator makes up one value.
type generator struct {
	root json.RawMessage
	all  bool // fields that are not required, too
	left int  // how many more values it makes up
}

// The bounds of what is made up: schemas may refer to themselves, from many places.
const (
	deepest    = 8
	mostValues = 500
	mostText   = 1 << 12
)

// value is a value for a schema; name is the field that it stands in.
func (g *generator) value(name string, raw json.RawMessage, depth int) json.RawMessage {
	g.left--
	o, err := rawjson.Parse(raw)
	if err != nil || depth > deepest || g.left < 0 { // true allows anything
		return rawjson.String("text")
	}
	if ref, ok := o.String("$ref"); ok {
		return g.value(name, g.at(ref), depth+1)
	}
	if given := given(o); given != nil {
		return given
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		if list := items(o.Get(word)); len(list) > 0 && o.Get("properties") == nil {
			return g.value(name, list[0], depth+1)
		}
	}
	switch kindOf(o) {
	case "object":
		return g.object(o, depth)
	case "array":
		return g.list(name, o, depth)
	case "integer", "number":
		return number(o)
	case "boolean":
		return json.RawMessage("true")
	case "null":
		return json.RawMessage("null")
	}
	return text(name, o)
}

// given is the value that a schema itself names.
func given(o rawjson.Object) json.RawMessage {
	for _, word := range []string{"const", "default", "example"} {
		if v := o.Get(word); v != nil {
			return v
		}
	}
	for _, word := range []string{"examples", "enum"} {
		if list := items(o.Get(word)); len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

func items(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// kindOf is the type of a schema's values.
func kindOf(o rawjson.Object) string {
	if t, ok := o.String("type"); ok {
		return t
	}
	var several []string
	if json.Unmarshal(o.Get("type"), &several) == nil && len(several) > 0 {
		return several[0]
	}
	if o.Get("properties") != nil {
		return "object"
	}
	return "string"
}

func (g *generator) object(o rawjson.Object, depth int) json.RawMessage {
	var required []string
	_ = json.Unmarshal(o.Get("required"), &required) // without one, nothing is required
	properties, _ := rawjson.Parse(o.Get("properties"))
	out := rawjson.Object{}
	for _, p := range properties {
		if g.left > 0 && (g.all && depth < deepest/2 || slices.Contains(required, p.Name)) {
			out = append(out, rawjson.Field{Name: p.Name, Value: g.value(p.Name, p.Value, depth+1)})
		}
	}
	return out.JSON()
}

func (g *generator) list(name string, o rawjson.Object, depth int) json.RawMessage {
	n := min(max(int(limit(o, "minItems", 1)), 1), 10)
	var out []json.RawMessage
	for range n {
		out = append(out, g.value(name, o.Get("items"), depth+1))
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("[]")
	}
	return raw
}

// at is where a reference within the schema leads.
func (g *generator) at(ref string) json.RawMessage {
	here := g.root
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, err := rawjson.Parse(here)
		if err != nil {
			return nil
		}
		here = o.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return here
}

func limit(o rawjson.Object, word string, otherwise float64) float64 {
	n := otherwise
	if raw := o.Get(word); raw != nil && json.Unmarshal(raw, &n) != nil {
		return otherwise
	}
	return n
}

func number(o rawjson.Object) json.RawMessage {
	low, high := limit(o, "minimum", math.Inf(-1)), limit(o, "maximum", math.Inf(1))
	low = max(low, limit(o, "exclusiveMinimum", math.Inf(-1))+1)
	high = min(high, limit(o, "exclusiveMaximum", math.Inf(1))-1)
	n := min(max(1, low), high)
	if step := limit(o, "multipleOf", 0); step > 0 {
		n = math.Ceil(n/step) * step
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return json.RawMessage("1")
	}
	return raw
}

// texts are values for strings of a format.
var texts = map[string]string{
	"date-time": "2026-01-15T10:30:00Z", "date": "2026-01-15", "time": "10:30:00Z", "email": "ann@example.org", "hostname": "example.org",
	"ipv4": "192.0.2.7", "ipv6": "2001:db8::7", "uuid": "123e4567-e89b-12d3-a456-426614174000", "uri": "https://example.org/",
	"path": "README.md", "file": "README.md", "url": "https://example.org/",
}

func text(name string, o rawjson.Object) json.RawMessage {
	format, _ := o.String("format")
	s := texts[format]
	if s == "" {
		s = texts[strings.ToLower(name)]
	}
	if s == "" {
		s = "some text"
	}
	for least := int(limit(o, "minLength", 0)); len(s) < least && len(s) < mostText; {
		s += " more"
	}
	if most := int(limit(o, "maxLength", mostText)); most >= 0 && len(s) > most {
		s = s[:most]
	}
	return rawjson.String(s)
}
