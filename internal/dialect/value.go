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

// Missing reports whether a value is not there: absent, or null.
func Missing(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// Or is the first of several values that is there, nil where none is.
func Or(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if !Missing(v) {
			return v
		}
	}
	return nil
}

// OrNull is a value that must not be absent.
func OrNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// AsText is a value as a JSON string: "" where it is missing; what is not a string is serialised.
func AsText(v json.RawMessage) json.RawMessage {
	switch {
	case Missing(v):
		return json.RawMessage(`""`)
	case v[0] == '"':
		return v
	}
	return rawjson.Quote(v)
}

// Plain is a value as text: what AsText says, without the quotes.
func Plain(v json.RawMessage) string {
	s, _ := rawjson.Unquote(AsText(v))
	return s
}

// JSONMismatch says in plain words why JSON is not of the form that was expected. The words of
// encoding/json name types of this program, which help nobody.
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
