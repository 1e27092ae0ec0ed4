package rawjson

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes a value like [json.Marshal], but leaves <, > and & as they are. People read the
// text, programs compare it, and not every program in a plugin decodes \u003c.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
