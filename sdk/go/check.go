package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rules checks a value against the part of JSON Schema that this package writes itself: type,
// required, properties, additionalProperties, items, enum, minimum, maximum, minLength, maxLength.
// Hosts check the rest.
type rules struct {
	schema   object
	required [][]byte // at the top
	deep     bool     // decoding, and a check of the required fields at the top, are not enough
}

func compile(schema object) *rules {
	r := &rules{schema: schema}
	list, _ := schema.get("required").([]any)
	for _, name := range list {
		if s, ok := name.(string); ok {
			r.required = append(r.required, []byte(s))
		}
	}
	properties, _ := schema.get("properties").(object)
	for _, p := range properties {
		if s, ok := p.value.(object); ok && demanding(s) {
			r.deep = true
		}
	}
	return r
}

// demanding reports whether a schema requires more than a type.
func demanding(schema object) bool {
	for _, f := range schema {
		switch f.name {
		case "enum", "minimum", "maximum", "minLength", "maxLength", "required":
			return true
		case "properties":
			for _, p := range f.value.(object) {
				if s, ok := p.value.(object); ok && demanding(s) {
					return true
				}
			}
		case "items", "additionalProperties":
			if s, ok := f.value.(object); ok && demanding(s) {
				return true
			}
		}
	}
	return false
}

// check returns what is wrong with arguments. It accepts unknown fields: hosts add their own.
func (r *rules) check(data []byte) error {
	if r.deep {
		return checkJSON(r.schema, data, false)
	}
	missing := len(r.required)
	var seen uint64
	err := members(data, func(name, value []byte) {
		for i, want := range r.required {
			if bytes.Equal(name, want) && seen&(1<<(i&63)) == 0 {
				seen |= 1 << (i & 63)
				missing--
			}
		}
	})
	if err != nil {
		return err
	}
	if missing > 0 {
		return checkJSON(r.schema, data, false)
	}
	return nil
}

// checkJSON decodes a value and checks it against a schema. strict refuses unknown fields.
func checkJSON(schema object, data []byte, strict bool) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return err
	}
	c := checker{strict: strict}
	c.value("", schema, v)
	if len(c.faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(c.faults, "; "))
}

type checker struct {
	strict bool
	faults []string
}

func (c *checker) bad(path, format string, args ...any) {
	if path == "" {
		path = "the value"
	}
	c.faults = append(c.faults, path+": "+fmt.Sprintf(format, args...))
}

func (c *checker) value(path string, schema object, v any) {
	if want, ok := schema.get("type").(string); ok && !isType(want, v) {
		c.bad(path, "must be %s", article(want))
		return
	}
	if list, ok := schema.get("enum").([]any); ok && !among(list, v) {
		c.bad(path, "must be one of %s", words(list))
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(path, schema, v)
	case []any:
		if items, ok := schema.get("items").(object); ok {
			for i, item := range v {
				c.value(path+"["+strconv.Itoa(i)+"]", items, item)
			}
		}
	case string:
		c.bounds(path, schema, "minLength", "maxLength", float64(utf8.RuneCountInString(v)), "have", "character")
	case json.Number:
		if n, err := v.Float64(); err == nil {
			c.bounds(path, schema, "minimum", "maximum", n, "be", "")
		}
	}
}

func (c *checker) object(path string, schema object, v map[string]any) {
	join := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	required, _ := schema.get("required").([]any)
	for _, name := range required {
		if s, ok := name.(string); ok {
			if _, has := v[s]; !has {
				c.bad(join(s), "is required")
			}
		}
	}
	properties, _ := schema.get("properties").(object)
	for _, p := range properties {
		if inner, has := v[p.name]; has {
			if s, ok := p.value.(object); ok {
				c.value(join(p.name), s, inner)
			}
		}
	}
	rest := schema.get("additionalProperties")
	for _, name := range sortedKeys(v) {
		if properties.get(name) != nil {
			continue
		}
		switch rest := rest.(type) {
		case bool:
			if !rest && c.strict {
				c.bad(join(name), "is not known; there are %s", quoteAll(names(properties)))
			}
		case object:
			c.value(join(name), rest, v[name])
		}
	}
}

func (c *checker) bounds(path string, schema object, low, high string, n float64, verb, unit string) {
	if least, ok := number(schema.get(low)); ok && n < least {
		c.bad(path, "must %s at least %s", verb, figure(least, unit))
	}
	if most, ok := number(schema.get(high)); ok && n > most {
		c.bad(path, "must %s at most %s", verb, figure(most, unit))
	}
}

func figure(n float64, unit string) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	switch {
	case unit == "":
		return text
	case n == 1:
		return text + " " + unit
	}
	return text + " " + unit + "s"
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func isType(want string, v any) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case json.Number:
		n, err := v.Float64()
		return want == "number" || want == "integer" && err == nil && n == float64(int64(n))
	}
	return false
}

func among(list []any, v any) bool {
	for _, allowed := range list {
		if fmt.Sprint(allowed) == fmt.Sprint(v) {
			return true
		}
	}
	return false
}

func words(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ", ")
}

func names(o object) []string {
	out := make([]string, len(o))
	for i, f := range o {
		out[i] = f.name
	}
	return out
}
