package plugtest

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Result returns the result of a plugin that answered with this JSON.
func Result[T string | []byte | json.RawMessage](text T) wire.Result {
	fields, _ := rawjson.Parse([]byte(text)) // none if it is no object
	return wire.Result{JSON: json.RawMessage(text), Fields: fields}
}
