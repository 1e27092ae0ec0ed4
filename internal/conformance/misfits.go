package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A misfit is a config with one field of a wrong type.
type misfit struct {
	field string
	wrong json.RawMessage
	value json.RawMessage // the whole config
}

// misfits returns configs that a schema with types refuses. In each of them one property is a list
// that contains a list, because no real setting has that type.
func misfits(raw json.RawMessage) []misfit {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.NewDecoder(bytes.NewReader(raw)).Decode(&doc) != nil {
		return nil
	}
	base, _ := rawjson.Parse(json.RawMessage(`{}`))
	if fit := samples(raw); len(fit) > 0 {
		base, _ = rawjson.Parse(fit[len(fit)-1].JSON)
	}
	wrong := json.RawMessage(`[[{"no":"setting"}]]`)
	var out []misfit
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		out = append(out, misfit{name, wrong, base.With(rawjson.Field{Name: name, Value: wrong}).JSON()})
	}
	return out
}
