package dialect

import (
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/rawjson"
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

// AsText is a value as a JSON string: "" where it is missing; what is not a
// string is serialised.
func AsText(v json.RawMessage) json.RawMessage {
	switch {
	case Missing(v):
		return json.RawMessage(`""`)
	case v[0] == '"':
		return v
	}
	return rawjson.String(string(v))
}

// Plain is a value as text: what AsText says, without the quotes.
func Plain(v json.RawMessage) string {
	s, _ := rawjson.Unquote(AsText(v))
	return s
}

// Cut keeps a foreign text from filling the screen: at most that many bytes of
// it, and valid UTF-8.
func Cut[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return strings.ToValidUTF8(string(text[:most]), "\uFFFD") + "…"
}
