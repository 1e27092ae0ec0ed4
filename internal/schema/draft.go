package schema

import "strings"

// A draft is a version of JSON Schema. Later ones are greater.
type draft int

const (
	draft4    draft = 4
	draft6    draft = 6
	draft7    draft = 7
	draft2019 draft = 2019
	draft2020 draft = 2020
)

// draftNamed returns the draft of a metaschema's address, as "$schema" has it. It accepts http and
// https for each, since people mix them up.
func draftNamed(address string) (d draft, ok bool) {
	address, _, _ = strings.Cut(address, "#")
	scheme, address, _ := strings.Cut(address, "://")
	if scheme != "http" && scheme != "https" {
		return 0, false
	}
	switch address {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema":
		return draft2020, true
	case "json-schema.org/draft/2019-09/schema":
		return draft2019, true
	case "json-schema.org/draft-07/schema":
		return draft7, true
	case "json-schema.org/draft-06/schema":
		return draft6, true
	case "json-schema.org/draft-04/schema":
		return draft4, true
	}
	return 0, false
}

// idKey returns the keyword that gives a schema an address.
func (d draft) idKey() string {
	if d == draft4 {
		return "id"
	}
	return "$id"
}

// refAlone reports whether "$ref" disables the keywords beside it.
func (d draft) refAlone() bool { return d <= draft7 }

// assertsFormats reports whether "format" is checked. Since 2019-09 it is only an annotation.
func (d draft) assertsFormats() bool { return d <= draft7 }

// A shape describes the value of a keyword.
type shape int

const (
	shapeAny shape = iota // also for keywords that the draft does not know
	shapeText
	shapeBool
	shapeNumber
	shapePositive
	shapeCount
	shapeAddress   // a URI
	shapeReference // a URI, or a relative reference
	shapeID        // a reference without a fragment
	shapeAnchor
	shapePattern
	shapeType
	shapeList
	shapeChoices // the values of an enum
	shapeNames   // field names, without repetitions
	shapeNamesMap
	shapeVocabulary
	shapeSchema
	shapeBoolOrSchema
	shapeSchemaList
	shapeSchemaOrList
	shapeSchemaMap
	shapePatternMap   // of schemas, by patterns
	shapeDependencies // an object of schemas and of lists of names
)

// shapeOf returns the shape of a keyword in a draft, as in the metaschema of that draft.
func shapeOf(keyword string, d draft) shape {
	switch keyword {
	case "title", "description", "format":
		return shapeText
	case "uniqueItems":
		return shapeBool
	case "minimum", "maximum":
		return shapeNumber
	case "multipleOf":
		return shapePositive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return shapeCount
	case "$schema":
		return shapeAddress
	case "pattern":
		return shapePattern
	case "type":
		return shapeType
	case "required":
		return shapeNames
	case "enum":
		return d.pick(shapeChoices, draft2019, shapeList)
	case "exclusiveMinimum", "exclusiveMaximum":
		return d.pick(shapeBool, draft6, shapeNumber)
	}
	if s := applicatorShape(keyword, d); s != shapeAny {
		return s
	}
	return laterShape(keyword, d)
}

// pick returns later if d is the draft since or a newer one, and earlier for older drafts.
func (d draft) pick(earlier shape, since draft, later shape) shape {
	if d >= since {
		return later
	}
	return earlier
}

// applicatorShape is shapeOf for keywords that contain schemas.
func applicatorShape(keyword string, d draft) shape {
	switch keyword {
	case "properties", "definitions":
		return shapeSchemaMap
	case "patternProperties":
		return shapePatternMap
	case "dependencies":
		return shapeDependencies
	case "allOf", "anyOf", "oneOf":
		return shapeSchemaList
	case "not":
		return shapeSchema
	case "items":
		return d.pick(shapeSchemaOrList, draft2020, shapeSchema)
	case "additionalItems":
		return d.pick(d.pick(shapeBoolOrSchema, draft6, shapeSchema), draft2020, shapeAny)
	case "additionalProperties":
		return d.pick(shapeBoolOrSchema, draft6, shapeSchema)
	case "contains", "propertyNames":
		return d.pick(shapeAny, draft6, shapeSchema)
	case "if", "then", "else":
		return d.pick(shapeAny, draft7, shapeSchema)
	case "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return d.pick(shapeAny, draft2019, shapeSchema)
	case "$defs", "dependentSchemas":
		return d.pick(shapeAny, draft2019, shapeSchemaMap)
	case "prefixItems":
		return d.pick(shapeAny, draft2020, shapeSchemaList)
	}
	return shapeAny
}

// laterShape is shapeOf for keywords that were added or changed after draft-04.
func laterShape(keyword string, d draft) shape {
	switch keyword {
	case "id":
		return d.pick(shapeText, draft6, shapeAny)
	case "$id":
		return d.pick(d.pick(shapeAny, draft6, shapeReference), draft2019, shapeID)
	case "$ref":
		return d.pick(shapeText, draft6, shapeReference)
	case "$comment", "contentMediaType", "contentEncoding":
		return d.pick(shapeAny, draft7, shapeText)
	case "readOnly", "writeOnly":
		return d.pick(shapeAny, draft7, shapeBool)
	case "examples":
		return d.pick(shapeAny, draft7, shapeList)
	case "deprecated":
		return d.pick(shapeAny, draft2019, shapeBool)
	case "minContains", "maxContains":
		return d.pick(shapeAny, draft2019, shapeCount)
	case "dependentRequired":
		return d.pick(shapeAny, draft2019, shapeNamesMap)
	case "$vocabulary":
		return d.pick(shapeAny, draft2019, shapeVocabulary)
	case "$anchor":
		return d.pick(shapeAny, draft2019, shapeAnchor)
	case "$recursiveRef":
		return d.pick(shapeAny, draft2019, shapeReference)
	case "$recursiveAnchor":
		return d.pick(d.pick(shapeAny, draft2019, shapeBool), draft2020, shapeAnchor)
	case "$dynamicRef":
		return d.pick(shapeAny, draft2020, shapeReference)
	case "$dynamicAnchor":
		return d.pick(shapeAny, draft2020, shapeAnchor)
	}
	return shapeAny
}
