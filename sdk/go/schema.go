package plugin

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// An object is a JSON object whose fields keep their order, so that manifests are in the order of
// the code.
type object []field

type field struct {
	name  string
	value any // object, []any, string, float64, int, bool, nil, json.RawMessage
}

func (o object) get(name string) any {
	for _, f := range o {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, f.name), ':')
		var err error
		if out, err = appendValue(out, f.value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// parseObject reads an object, and keeps the order of its fields.
func parseObject(data []byte) (object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	v, err := parseValue(decoder)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok || decoder.More() {
		return nil, errJSON
	}
	return o, nil
}

func parseValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			v, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseValue(decoder)
			if err != nil {
				return nil, err
			}
			o = append(o, field{name.(string), v})
		}
		_, err = decoder.Token()
		return o, err
	}
	return token, nil
}

var (
	textType  = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType  = reflect.TypeFor[json.Unmarshaler]()
	rawType   = reflect.TypeFor[json.RawMessage]()
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// mostDeep limits the nesting of types: a type that contains itself has no schema of this kind.
const mostDeep = 16

// schemaOf returns the JSON Schema of a type that encoding/json decodes into. If defaults is valid,
// it has the values of fields that are left out.
func schemaOf(t reflect.Type, defaults reflect.Value) (object, error) {
	return typeSchema(t, defaults, 0)
}

func typeSchema(t reflect.Type, defaults reflect.Value, depth int) (object, error) {
	if depth > mostDeep {
		return nil, fmt.Errorf("%s is nested too deep, or contains itself", t)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if defaults.IsValid() {
			defaults = defaults.Elem()
		}
	}
	switch {
	case t == timeType:
		return object{{"type", "string"}, {"format", "date-time"}}, nil
	case t == rawType:
		return object{}, nil
	case t == bytesType || reflect.PointerTo(t).Implements(textType):
		return object{{"type", "string"}}, nil
	case reflect.PointerTo(t).Implements(jsonType):
		return object{}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}, nil
	case reflect.Bool:
		return object{{"type", "boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{{"type", "integer"}}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{{"type", "integer"}, {"minimum", 0}}, nil
	case reflect.Float32, reflect.Float64:
		return object{{"type", "number"}}, nil
	case reflect.Interface:
		return object{}, nil
	case reflect.Slice, reflect.Array:
		items, err := typeSchema(t.Elem(), reflect.Value{}, depth+1)
		return object{{"type", "array"}, {"items", items}}, err
	case reflect.Map:
		values, err := typeSchema(t.Elem(), reflect.Value{}, depth+1)
		return object{{"type", "object"}, {"additionalProperties", values}}, err
	case reflect.Struct:
		return structSchema(t, defaults, depth)
	}
	return nil, fmt.Errorf("%s cannot be JSON", t)
}

func structSchema(t reflect.Type, defaults reflect.Value, depth int) (object, error) {
	properties, required := object{}, []any{}
	err := structFields(t, defaults, depth, &properties, &required)
	out := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		out = append(out, field{"required", required})
	}
	return out, err
}

// closed returns the schema with unknown fields refused in every object.
func closed(schema object) object {
	out := object{}
	for _, f := range schema {
		if inner, ok := f.value.(object); ok {
			if f.name == "properties" {
				properties := object{}
				for _, p := range inner {
					s, _ := p.value.(object)
					properties = append(properties, field{p.name, closed(s)})
				}
				f.value = properties
			} else {
				f.value = closed(inner)
			}
		}
		out = append(out, f)
	}
	if schema.get("properties") != nil {
		out = append(out, field{"additionalProperties", false})
	}
	return out
}

// structFields adds the fields of a struct, and of those it embeds.
func structFields(t reflect.Type, defaults reflect.Value, depth int, properties *object, required *[]any) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		value := reflect.Value{}
		if defaults.IsValid() {
			value = defaults.Field(i)
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := structFields(f.Type, value, depth+1, properties, required); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema, err := fieldSchema(f, value, depth)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*properties = append(*properties, field{name, schema})
		optional := strings.Contains(options, "omit") || f.Type.Kind() == reflect.Pointer || value.IsValid() && !value.IsZero()
		if !optional {
			*required = append(*required, name)
		}
	}
	return nil
}

// fieldSchema returns the schema of a field's type and of its tags: doc, enum, min, max.
func fieldSchema(f reflect.StructField, value reflect.Value, depth int) (object, error) {
	schema, err := typeSchema(f.Type, value, depth+1)
	if err != nil {
		return nil, err
	}
	if doc := f.Tag.Get("doc"); doc != "" {
		schema = append(schema, field{"description", doc})
	}
	kind, _ := schema.get("type").(string)
	if words := f.Tag.Get("enum"); words != "" {
		values := []any{}
		for word := range strings.SplitSeq(words, ",") {
			v, err := constant(kind, word)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		schema = append(schema, field{"enum", values})
	}
	for _, bound := range []struct{ tag, keyword string }{{"min", "minimum"}, {"max", "maximum"}} {
		if text := f.Tag.Get(bound.tag); text != "" {
			keyword := bound.keyword
			if kind == "string" {
				keyword = strings.Replace(keyword, "imum", "Length", 1) // the limit of a text is its length
			}
			v, err := constant("number", text)
			if err != nil {
				return nil, err
			}
			schema = append(schema.without(keyword), field{keyword, v})
		}
	}
	if value.IsValid() && !value.IsZero() && kind != "object" {
		text, err := marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		schema = append(schema, field{"default", text})
	}
	return schema, nil
}

func (o object) without(name string) object {
	out := object{}
	for _, f := range o {
		if f.name != name {
			out = append(out, f)
		}
	}
	return out
}

// constant reads a value of a tag.
func constant(kind, text string) (any, error) {
	switch kind {
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%q in its tag is not a number", text)
		}
		return json.Number(text), nil
	}
	return text, nil
}
