package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// Or returns the first value that is not missing, or nil.
func Or(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if !rawjson.Missing(v) {
			return v
		}
	}
	return nil
}

// OrNull returns v, or null if v is absent.
func OrNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// AsText returns a value as a JSON string: "" if it is missing. A value that is not a string is
// serialised.
func AsText(v json.RawMessage) json.RawMessage {
	switch {
	case rawjson.Missing(v):
		return json.RawMessage(`""`)
	case v[0] == '"':
		return v
	}
	return rawjson.Quote(v)
}

// Plain returns the text of a value: what AsText returns, unquoted.
func Plain(v json.RawMessage) string {
	s, _ := rawjson.Unquote(AsText(v))
	return s
}

// Arguments returns the arguments of a tool call as an object. Some hosts have the object in a
// string. It returns nil if the arguments are anything else, such as a list; missing arguments are
// an empty object.
func Arguments(v json.RawMessage) rawjson.Object {
	if Plain(v) == "" {
		return rawjson.Object{}
	}
	parse := rawjson.Parse
	if text, ok := rawjson.Text(v); ok {
		v, parse = text, rawjson.ParseForeign // the host has not checked the text
	}
	o, err := parse(v)
	if err != nil {
		return nil
	}
	return o
}

// JSONMismatch says in plain words why JSON has the wrong form. The messages of encoding/json name
// Go types, which a plugin's author does not know.
func JSONMismatch(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list",
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Float64: "a number", reflect.Int: "a number"}[wrong.Type.Kind()]
	text := fmt.Sprintf("%s where %s belongs", wrong.Value, cmp.Or(want, "something else"))
	if wrong.Field != "" {
		text = wrong.Field + ": " + text
	}
	return text
}
