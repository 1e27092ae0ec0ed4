package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// decode decodes the JSON object of an event. Compatible servers differ in types: a field of an
// unexpected type counts as missing, unless looseText or looseInt can convert it.
func decode(data []byte, into any) error {
	if data[0] != '{' && string(data) != "null" {
		return fmt.Errorf("the server sent an event that is not a JSON object, it begins with %q", data[0])
	}
	err := json.Unmarshal(data, into)
	var mistyped *json.UnmarshalTypeError // encoding/json continues after it
	if err == nil || errors.As(err, &mistyped) {
		return nil
	}
	return fmt.Errorf("the server sent an event that is not JSON: %w", err)
}

// A looseText is a text. If a server sends another value, the text is its JSON, as some do with the
// arguments of tool calls. null is an empty text.
type looseText string

// UnmarshalJSON never fails.
func (t *looseText) UnmarshalJSON(data []byte) error {
	var s string
	switch {
	case string(data) == "null":
	case json.Unmarshal(data, &s) == nil:
		*t = looseText(s)
	default:
		*t = looseText(bytes.ToValidUTF8(data, []byte("\uFFFD"))) // as encoding/json does within strings
	}
	return nil
}

// A looseInt is the integer part of a number, or of a text with a number. Anything else, and a
// number that is too large to be exact, is 0.
type looseInt int64

// UnmarshalJSON never fails.
func (n *looseInt) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<53 {
		f = 0
	}
	*n = looseInt(f)
	return nil
}
