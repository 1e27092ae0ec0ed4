package plugtest

import (
	"encoding/json"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Result returns the result of a plugin that answered with this JSON.
func Result[T string | []byte | json.RawMessage](text T) wire.Result {
	fields, err := rawjson.ParseForeign([]byte(text)) // none if it is no object
	r := wire.Result{JSON: json.RawMessage(text), Fields: fields}
	if repeated, ok := errors.AsType[*rawjson.RepeatError](err); ok {
		r.Ambiguous = repeated
	}
	return r
}
