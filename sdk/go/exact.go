package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
)

// decodeExact decodes JSON as encoding/json does, but finds fields by their exact names.
// encoding/json ignores case: of {"path":…,"PATH":…} it takes the second, although schemas and
// other plugins mean the first.
func decodeExact(data []byte, into any) error {
	return json.Unmarshal(exact(data, reflect.TypeOf(into)), into)
}

// exact returns JSON for a type, without the fields of objects whose names differ only in case from
// a field of the type. It returns data itself if there are none, or if data is invalid.
func exact(data []byte, t reflect.Type) []byte {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(jsonType) || reflect.PointerTo(t).Implements(textType) {
		return data
	}
	switch t.Kind() {
	case reflect.Struct:
		fields := make(map[string]reflect.Type)
		exactFields(t, fields)
		return rebuilt(data, func(name string) (reflect.Type, bool) { return exactField(fields, name) })
	case reflect.Map:
		return rebuilt(data, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice, reflect.Array:
		return rebuiltList(data, t.Elem())
	}
	return data
}

// exactFields adds the fields of a struct, and of those it embeds, by their names in JSON.
func exactFields(t reflect.Type, fields map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			exactFields(inner, fields)
		case f.IsExported() && f.Tag.Get("json") != "-":
			if name == "" {
				name = f.Name
			}
			fields[name] = f.Type
		}
	}
}

// exactField returns the type of the field with a name. keep is false if the name is only another
// spelling of a field's name.
func exactField(fields map[string]reflect.Type, name string) (t reflect.Type, keep bool) {
	if t, ok := fields[name]; ok {
		return t, true
	}
	for known := range fields {
		if strings.EqualFold(known, name) {
			return nil, false
		}
	}
	return nil, true // encoding/json ignores it
}

// rebuilt returns an object with those fields that have a type or are kept.
func rebuilt(data []byte, of func(name string) (t reflect.Type, keep bool)) []byte {
	out, changed := []byte{'{'}, false
	err := members(data, func(name, value []byte) {
		t, keep := of(string(name))
		if !keep {
			changed = true
			return
		}
		inner := exact(value, t)
		changed = changed || len(inner) != len(value)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(appendString(out, string(name)), ':'), inner...)
	})
	if err != nil || !changed {
		return data
	}
	return append(out, '}')
}

// rebuiltList returns a list whose elements have a type.
func rebuiltList(data []byte, t reflect.Type) []byte {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return data
	}
	changed := false
	for i, item := range list {
		inner := exact(item, t)
		changed = changed || len(inner) != len(item)
		list[i] = inner
	}
	if !changed {
		return data
	}
	text, err := marshal(list)
	if err != nil {
		return data
	}
	return text
}
