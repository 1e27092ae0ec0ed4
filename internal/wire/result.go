package wire

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Result is the result in a plugin's reply.
type Result struct {
	JSON      json.RawMessage // compact, valid UTF-8 and owned by the caller
	Fields    rawjson.Object  // of JSON; nil if it is no object, or an ambiguous one
	Ambiguous error           // which field of the object has two values; nil: none
}
