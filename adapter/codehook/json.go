package codehook

import (
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// object returns an object of names and values, in this order. Values are strings, booleans, raw
// JSON or objects.
func object(pairs ...any) hook.Object {
	o := make(hook.Object, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		o = append(o, hook.Field{Name: pairs[i].(string), Value: toRaw(pairs[i+1])})
	}
	return o
}

func toRaw(v any) raw {
	switch v := v.(type) {
	case string:
		return rawjson.String(v)
	case raw:
		return v
	case hook.Object:
		return v.JSON()
	case bool:
		if v {
			return raw("true")
		}
		return raw("false")
	default:
		return raw("null")
	}
}

// document returns an answer that is one JSON object.
func document(o hook.Object) Answer { return Answer{Stdout: string(o.JSON()) + "\n"} }

// fieldsOf returns the fields of an object, or nil if v is not an object.
func fieldsOf(v raw) hook.Object {
	o, err := rawjson.Parse(v)
	if err != nil {
		return nil
	}
	return o
}

// elements returns the elements of a list, or nil if v is not a list. v must be valid JSON.
func elements(v raw) []raw {
	if len(v) == 0 || v[0] != '[' {
		return nil
	}
	var items []raw
	for i := rawjson.Space(v, 1); i < len(v) && v[i] != ']'; i = rawjson.Space(v, i) {
		if v[i] == ',' {
			i = rawjson.Space(v, i+1)
		}
		end, _, err := rawjson.Skip(v, i)
		if err != nil {
			return nil
		}
		items = append(items, raw(v[i:end:end]))
		i = end
	}
	return items
}

// joined returns a list of these elements.
func joined(items []raw) raw {
	out := append(make(raw, 0, 64), '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

func isObject(v raw) bool { return len(v) > 0 && v[0] == '{' }

// plain returns a field as text. A value that is not a string is returned as JSON; a missing one as
// "".
func plain(fields hook.Object, name string) string { return textOf(fields.Get(name)) }

func textOf(v raw) string {
	if text, ok := rawjson.Unquote(v); ok {
		return text
	}
	if rawjson.Missing(v) {
		return ""
	}
	return string(v)
}
