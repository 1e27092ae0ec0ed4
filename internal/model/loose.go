package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// decode reads the JSON object that an event is. Compatible servers take liberties with types: a
// field of a kind that we do not expect counts as missing, unless looseText or looseInt can make
// something of it.
func decode(data []byte, into any) error {
	if data[0] != '{' && string(data) != "null" {
		return fmt.Errorf("the server sent an event that is no JSON object, it begins with %q", data[0])
	}
	err := json.Unmarshal(data, into)
	var mistyped *json.UnmarshalTypeError // encoding/json goes on after it
	if err == nil || errors.As(err, &mistyped) {
		return nil
	}
	return fmt.Errorf("the server sent an event that is not JSON: %w", err)
}

// looseText is a text. Where a server sends another value, the text is its JSON: so do some with
// the arguments of tool calls. null is no text.
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

// looseInt is a whole number: the whole part of what a server sends, be it a number or a text that
// holds one. Anything else, and what is too large to be exact, is 0.
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
