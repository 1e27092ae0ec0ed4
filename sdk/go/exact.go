package plugin

import (
	"cmp"
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
// a field of the type. It returns data itself if there are none, or if data is invalid. A field of
// the type whose tag has no name may be written in any case, unless data has its exact name too.
func exact(data []byte, t reflect.Type) []byte {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(jsonType) || reflect.PointerTo(t).Implements(textType) {
		return data
	}
	switch t.Kind() {
	case reflect.Struct:
		fields := make(map[string]exactField)
		exactFields(t, fields, make(map[reflect.Type]bool))
		has := make(map[string]bool)
		_ = members(data, func(name, _ []byte) { has[string(name)] = true }) // rebuilt looks at the error
		return rebuilt(data, func(name string) (reflect.Type, bool) { return fieldFor(name, fields, has) })
	case reflect.Map:
		return rebuilt(data, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case reflect.Slice, reflect.Array:
		return rebuiltList(data, t.Elem())
	}
	return data
}

// An exactField is a field of a struct.
type exactField struct {
	of    reflect.Type
	named bool // its tag has a name
}

// exactFields adds the fields of a struct, and of those it embeds, by their names in JSON. A struct
// may embed a pointer to itself, so seen has those that were added.
func exactFields(t reflect.Type, fields map[string]exactField, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			exactFields(inner, fields, seen)
		case f.IsExported() && f.Tag.Get("json") != "-":
			fields[cmp.Or(name, f.Name)] = exactField{f.Type, name != ""}
		}
	}
}

// fieldFor returns the type of the field for a name in JSON that has these names. keep is false if
// the name is only another spelling of a field's name.
func fieldFor(name string, fields map[string]exactField, has map[string]bool) (t reflect.Type, keep bool) {
	if f, ok := fields[name]; ok {
		return f.of, true
	}
	for known, f := range fields {
		if strings.EqualFold(known, name) {
			return f.of, !f.named && !has[known]
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
