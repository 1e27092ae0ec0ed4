package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A metaCheck checks a schema against the shapes of its draft's keywords. It finds the same faults
// as the metaschemas of the drafts, which need not be compiled.
type metaCheck struct {
	report
	draft    draft
	patterns *patternEngine // nil: only report that a pattern is invalid
}

// schema checks a schema and all schemas in it.
func (m *metaCheck) schema(v any) {
	if _, ok := v.(bool); ok && m.draft > draft4 {
		return
	}
	object, ok := v.(map[string]any)
	if !ok {
		m.failType(v, m.schemaTypes())
		return
	}
	defer func(d draft) { m.draft = d }(m.draft)
	m.draft = resourceDraft(object, m.draft)
	for keyword, v := range object {
		m.enter(keyword)
		m.value(shapeOf(keyword, m.draft), v)
		m.leave()
	}
	if m.draft == draft4 {
		m.needs(object, "exclusiveMinimum", "minimum")
		m.needs(object, "exclusiveMaximum", "maximum")
	}
}

func (m *metaCheck) schemaTypes() typeSet {
	if m.draft == draft4 {
		return typeObject
	}
	return typeObject | typeBoolean
}

// needs checks that a keyword comes with the one that it modifies.
func (m *metaCheck) needs(object map[string]any, keyword, needed string) {
	_, has := object[keyword]
	_, hasNeeded := object[needed]
	if has && !hasNeeded && m.fails() {
		m.add(mustHaveToo(keyword, []string{needed}))
	}
}

// value checks the value of one keyword.
func (m *metaCheck) value(s shape, v any) {
	switch s {
	case shapeText:
		m.is(v, typeString)
	case shapeBool:
		m.is(v, typeBoolean)
	case shapeList:
		m.is(v, typeArray)
	case shapeNumber:
		m.is(v, typeNumber)
	case shapePositive:
		if m.is(v, typeNumber) && newNumber(v.(json.Number)).sign() <= 0 {
			m.fail("must be greater than 0")
		}
	case shapeCount:
		if m.is(v, typeInteger) && newNumber(v.(json.Number)).sign() < 0 {
			m.fail("must be at least 0")
		}
	case shapeAddress, shapeReference, shapeID, shapeAnchor, shapePattern:
		m.text(s, v)
	case shapeType, shapeChoices, shapeNames, shapeNamesMap, shapeVocabulary:
		m.names(s, v)
	default:
		m.subschemas(s, v)
	}
}

// text checks a keyword that is a string of some kind.
func (m *metaCheck) text(s shape, v any) {
	if !m.is(v, typeString) {
		return
	}
	text := v.(string)
	switch s {
	case shapeAddress:
		m.format("uri", text)
	case shapeReference:
		m.format("uri-reference", text)
	case shapeID:
		m.format("uri-reference", text)
		if strings.Contains(strings.TrimSuffix(text, "#"), "#") {
			m.fail("does not match the pattern " + Cite("^[^#]*#?$"))
		}
	case shapeAnchor:
		if pattern := m.draft.anchorPattern(); !isAnchor(text, m.draft) {
			m.fail("does not match the pattern " + Cite(pattern))
		}
	case shapePattern:
		if why := m.badPattern(text, `is not in the format "regex"`); why != "" {
			m.fail(why)
		}
	}
}

func (m *metaCheck) format(name, text string) {
	if !formatCheck(name)(text) {
		m.fail("is not in the format " + Cite(name))
	}
}

// badPattern returns why a pattern is invalid, or "".
func (m *metaCheck) badPattern(pattern, plainly string) string {
	if m.patterns == nil {
		if isPattern(pattern) {
			return ""
		}
		return plainly
	}
	if _, err := m.patterns.compile(pattern); err != nil {
		return fmt.Sprintf("the pattern %s is not valid: %s", Cite(pattern), shorten(err.Error()))
	}
	return ""
}

// names checks a keyword that contains names or other plain values.
func (m *metaCheck) names(s shape, v any) {
	switch s {
	case shapeType:
		m.either(func() { m.typeName(v) }, func() { m.list(v, 1, true, m.typeName) })
	case shapeChoices:
		m.list(v, 1, true, nil)
	case shapeNames:
		m.nameList(v)
	case shapeNamesMap:
		m.fields(v, func(_ string, v any) { m.nameList(v) })
	case shapeVocabulary:
		m.fields(v, func(name string, v any) {
			if !formatCheck("uri")(name) {
				m.fail(badName)
			}
			m.is(v, typeBoolean)
		})
	}
}

// nameList checks a list of field names. Draft-04 demands at least one.
func (m *metaCheck) nameList(v any) {
	least := 0
	if m.draft == draft4 {
		least = 1
	}
	m.list(v, least, true, func(v any) { m.is(v, typeString) })
}

func (m *metaCheck) typeName(v any) {
	name, ok := v.(string)
	if !ok || typeNamed(name) == 0 {
		m.fail(`must be one of "array", "boolean", "integer", "null", "number", "object", "string"`)
	}
}

// subschemas checks a keyword that contains schemas.
func (m *metaCheck) subschemas(s shape, v any) {
	switch s {
	case shapeSchema:
		m.schema(v)
	case shapeBoolOrSchema:
		m.either(func() { m.is(v, typeBoolean) }, func() { m.schema(v) })
	case shapeSchemaList:
		m.list(v, 1, false, m.schema)
	case shapeSchemaOrList:
		m.either(func() { m.schema(v) }, func() { m.list(v, 1, false, m.schema) })
	case shapeSchemaMap:
		m.fields(v, func(_ string, v any) { m.schema(v) })
	case shapePatternMap:
		m.fields(v, func(pattern string, v any) {
			if why := m.badPattern(pattern, badName); why != "" {
				m.fail(why)
			}
			m.schema(v)
		})
	case shapeDependencies:
		m.fields(v, func(_ string, v any) {
			m.either(func() { m.schema(v) }, func() { m.nameList(v) })
		})
	}
}

// is checks the type of a value.
func (m *metaCheck) is(v any, want typeSet) bool {
	if want.has(v) {
		return true
	}
	m.failType(v, want)
	return false
}

// list checks a list and its items.
func (m *metaCheck) list(v any, least int, unique bool, item func(any)) {
	if !m.is(v, typeArray) {
		return
	}
	list := v.([]any)
	if len(list) < least {
		m.fail("must have at least " + counted(strconv.Itoa(least), "item"))
	}
	if unique {
		m.unique(list)
	}
	for i, v := range list {
		if item != nil {
			m.enterItem(i)
			item(v)
			m.leave()
		}
	}
}

// fields checks each field of an object.
func (m *metaCheck) fields(v any, check func(name string, v any)) {
	if !m.is(v, typeObject) {
		return
	}
	for name, v := range v.(map[string]any) {
		m.enter(name)
		check(name, v)
		m.leave()
	}
}

// anchorPattern returns the pattern for the names of anchors.
func (d draft) anchorPattern() string {
	if d == draft2019 {
		return "^[A-Za-z][-A-Za-z0-9.:_]*$"
	}
	return "^[A-Za-z_][-A-Za-z0-9._]*$"
}

// isAnchor reports whether a name matches anchorPattern.
func isAnchor(name string, d draft) bool {
	if name == "" || slices.Contains([]byte("-.:0123456789"), name[0]) || d == draft2019 && name[0] == '_' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && r != '-' && r != '.' && r != '_' && (r != ':' || d != draft2019)
	})
}
