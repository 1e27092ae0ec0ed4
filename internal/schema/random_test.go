package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
)

// A maker makes random schemas and values from a small set of parts, so that they have something in
// common.
type maker struct {
	*rand.Rand
	draft string
}

var someDrafts = []string{
	"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

// randomPair returns a schema and values for it. The same seed gives the same pair.
func randomPair(seed uint64) (schema string, values []string) {
	m := maker{rand.New(rand.NewPCG(seed, 1)), ""}
	m.draft = pickOf(m, someDrafts)
	top, ok := m.schema(3).(map[string]any)
	if !ok {
		top = map[string]any{}
	}
	top["$schema"] = m.draft
	top["definitions"] = map[string]any{"a": m.schema(2), "b": m.schema(1)}
	for range 4 {
		values = append(values, text(m.value(3)))
	}
	return text(top), values
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func pickOf[T any](m maker, of []T) T { return of[m.IntN(len(of))] }

var (
	someNames    = []string{"a", "b", "c", "ab"}
	someTypes    = []string{"null", "boolean", "number", "integer", "string", "array", "object"}
	someNumbers  = []json.Number{"0", "1", "1.0", "2", "-1", "0.5", "3", "10e-1", "0.1", "12345678901234567890"}
	someKeywords = []string{
		"type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"minItems", "maxItems", "uniqueItems", "items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains",
		"minProperties", "maxProperties", "required", "properties", "patternProperties", "additionalProperties", "propertyNames",
		"dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveAnchor", "$recursiveRef",
		"properties", "properties", "allOf", "anyOf", "items", "if", "unevaluatedProperties", "unevaluatedItems",
	}
)

func (m maker) value(depth int) any {
	kind := m.IntN(7)
	if depth == 0 {
		kind = m.IntN(5)
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return m.IntN(2) == 0
	case 2, 3:
		return pickOf(m, someNumbers)
	case 4:
		return pickOf(m, someNames)
	case 5:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range m.IntN(4) {
		object[pickOf(m, someNames)] = m.value(depth - 1)
	}
	return object
}

func (m maker) schema(depth int) any {
	if depth == 0 || m.IntN(12) == 0 {
		return m.leaf()
	}
	object := map[string]any{}
	for range 1 + m.IntN(4) {
		keyword := pickOf(m, someKeywords)
		if keyword == "additionalItems" && m.draft == someDrafts[4] {
			continue // see differences
		}
		object[keyword] = m.keyword(keyword, depth-1)
	}
	if ref, ok := object["$ref"]; ok && (m.draft == someDrafts[1] || m.draft == someDrafts[2]) {
		return map[string]any{"$ref": ref} // see differences
	}
	return object
}

func (m maker) leaf() any {
	if m.IntN(4) == 0 && m.draft != someDrafts[0] {
		return m.IntN(2) == 0
	}
	return map[string]any{"type": pickOf(m, someTypes)}
}

func (m maker) keyword(name string, depth int) any {
	switch name {
	case "type":
		return pickOf(m, someTypes)
	case "enum":
		return []any{m.value(1), map[string]any{"z": strconv.Itoa(m.IntN(9))}}
	case "const":
		return m.value(1)
	case "minimum", "maximum":
		return pickOf(m, someNumbers)
	case "exclusiveMinimum", "exclusiveMaximum":
		if m.draft == someDrafts[0] {
			return true
		}
		return pickOf(m, someNumbers)
	case "multipleOf":
		return pickOf(m, []json.Number{"1", "0.1", "2", "1e-2", "3"})
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return m.IntN(3)
	case "pattern":
		return pickOf(m, []string{"a", "^b", "c$", "^$"})
	case "uniqueItems", "$recursiveAnchor":
		return true
	}
	return m.applicator(name, depth)
}

func (m maker) applicator(name string, depth int) any {
	switch name {
	case "required":
		return []any{pickOf(m, someNames)}
	case "properties", "dependentSchemas":
		return map[string]any{pickOf(m, someNames): m.schema(depth), "a": m.schema(depth)}
	case "patternProperties":
		return map[string]any{pickOf(m, []string{"a", "^b", "c$"}): m.schema(depth)}
	case "dependencies":
		return map[string]any{pickOf(m, someNames): m.schema(depth), "b": []any{pickOf(m, someNames)}}
	case "dependentRequired":
		return map[string]any{pickOf(m, someNames): []any{pickOf(m, someNames)}}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return []any{m.schema(depth), m.schema(depth)}
	case "items":
		if m.draft != someDrafts[4] && m.IntN(2) == 0 {
			return []any{m.schema(depth)}
		}
	case "$ref", "$dynamicRef":
		return pickOf(m, []string{"#/definitions/a", "#/definitions/b", "#", "#x", "sub", "sub#x", "#/nowhere"})
	case "$recursiveRef":
		return "#"
	case "$id":
		return "sub"
	case "$anchor", "$dynamicAnchor":
		return "x"
	}
	return m.schema(depth)
}
