package schema

import (
	"maps"
	"slices"
)

// values reads the keywords that demand a type or certain values.
func (o object) values(n *node) {
	switch v := o.fields["type"].(type) {
	case string:
		n.types = typeNamed(v)
	case []any:
		for _, name := range texts(v) {
			n.types |= typeNamed(name)
		}
	}
	n.enum, n.hasEnum = o.fields["enum"].([]any)
	if v, ok := o.fields["const"]; ok && o.draft >= draft6 {
		n.constant = []any{v}
	}
}

// inPlace reads the schemas that check the same value.
func (o object) inPlace(n *node) {
	n.all, n.any, n.one = o.schemas("allOf"), o.schemas("anyOf"), o.schemas("oneOf")
	n.not = o.schema("not")
	if n.cond = o.schema("if"); n.cond != nil {
		n.then, n.other = o.schema("then"), o.schema("else")
	}
	if t, ok := o.find("$dynamicRef"); ok {
		n.dynamic = append(n.dynamic, dynamicRef{to: o.to(t), anchor: t.dynamic})
	}
	if t, ok := o.find("$recursiveRef"); ok { // 2020-12 dropped it, but people still use it
		n.dynamic = append(n.dynamic, dynamicRef{to: o.to(t), recursive: t.recursive})
	}
}

func (o object) numbers(n *forNumbers) {
	n.minimum, n.maximum, n.multiple = o.number("minimum"), o.number("maximum"), o.number("multipleOf")
	n.above, n.below = o.number("exclusiveMinimum"), o.number("exclusiveMaximum")
	if o.fields["exclusiveMinimum"] == true { // draft-04
		n.above, n.minimum = n.minimum, nil
	}
	if o.fields["exclusiveMaximum"] == true {
		n.below, n.maximum = n.maximum, nil
	}
}

func (o object) strings(n *forStrings) {
	n.minLength, n.maxLength = o.count("minLength"), o.count("maxLength")
	if text, ok := o.fields["pattern"].(string); ok {
		n.pattern = o.patternOf(text)
	}
	if o.draft.assertsFormats() {
		n.format, _ = o.fields["format"].(string)
		n.isFormat = formatCheck(n.format)
	}
}

func (o object) objects(n *forObjects) {
	n.minFields, n.maxFields = o.count("minProperties"), o.count("maxProperties")
	required, _ := o.fields["required"].([]any)
	n.required = texts(required)
	o.schemaMap("properties", func(name string, _ any, field *node) {
		if n.properties == nil {
			n.properties = make(map[string]*node)
		}
		n.properties[name] = field
	})
	o.schemaMap("patternProperties", func(text string, _ any, field *node) {
		n.patterns = append(n.patterns, patternNode{o.patternOf(text), field})
	})
	n.additional, n.names = o.schema("additionalProperties"), o.schema("propertyNames")
	n.unevaluatedFields = o.schema("unevaluatedProperties")
	o.dependencies(n)
}

// dependencies reads what an object must have if it has a certain field. The keyword
// "dependencies", which later drafts split in two, is accepted in all of them.
func (o object) dependencies(n *forObjects) {
	add := func(name string, v any, schema *node) {
		if schema != nil {
			n.dependentSchemas = append(n.dependentSchemas, dependentNode{name, schema})
		} else if list, ok := v.([]any); ok {
			n.dependentRequired = append(n.dependentRequired, dependentNames{name, texts(list)})
		}
	}
	o.schemaMap("dependencies", add)
	o.schemaMap("dependentSchemas", add)
	v, _ := o.value("dependentRequired")
	needed, _ := v.(map[string]any)
	for _, name := range sortedKeys(needed) {
		add(name, needed[name], nil)
	}
}

func (o object) lists(n *forLists) {
	n.minItems, n.maxItems = o.count("minItems"), o.count("maxItems")
	n.unique = o.fields["uniqueItems"] == true
	o.items(n)
	if n.contains = o.schema("contains"); n.contains != nil {
		n.minContains, n.maxContains = o.count("minContains"), o.count("maxContains")
		n.containsEvaluates = o.draft == draft2020
	}
	n.unevaluatedItems = o.schema("unevaluatedItems")
}

// items reads the schemas of items. Before 2020-12, a list in "items" meant what "prefixItems"
// means now.
func (o object) items(n *forLists) {
	if _, isList := o.fields["items"].([]any); isList {
		n.prefix, n.rest = o.schemas("items"), o.schema("additionalItems")
		n.restInOne = true
		return
	}
	n.prefix, n.rest = o.schemas("prefixItems"), o.schema("items")
}

// texts returns the strings of a list.
func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

func sortedKeys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}
