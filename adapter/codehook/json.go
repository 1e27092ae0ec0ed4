package codehook

import (
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// object makes an object of names and values, in this order. Values are strings, booleans, raw JSON
// or objects.
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

// document is an answer of one JSON object, and nothing else.
func document(o hook.Object) Answer { return Answer{Stdout: string(o.JSON()) + "\n"} }

// fieldsOf splits an object; what is none has no fields.
func fieldsOf(v raw) hook.Object {
	o, err := rawjson.Parse(v)
	if err != nil {
		return nil
	}
	return o
}

// elements splits a list that was read as part of something; what is none has no elements.
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

// joined is a list of these elements.
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

// plain is a field as text: what is not a string is serialised, and nothing at all is "".
func plain(fields hook.Object, name string) string { return plainly(fields.Get(name)) }

func plainly(v raw) string {
	if text, ok := rawjson.Unquote(v); ok {
		return text
	}
	if missing(v) {
		return ""
	}
	return string(v)
}
