package dialect

import (
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// MostUnknown limits how many unknown fields of one object are noted. A plugin chooses how many it
// sends, and an author corrects them one by one.
const MostUnknown = 5

// UnknownFields returns notes about the fields of an object that the protocol does not know. where
// names the object. These fields change nothing, so the plugin's author must be told.
func UnknownFields(where string, o rawjson.Object, known []string) []string {
	var notes []string
	for _, f := range o {
		if slices.Contains(known, f.Name) {
			continue
		}
		if len(notes) == MostUnknown {
			return append(notes, where+" has more unknown fields")
		}
		notes = append(notes, UnknownField(where, f.Name, known))
	}
	return notes
}

// UnknownField returns the note about a field that the protocol does not know. It suggests the
// field that was probably meant.
func UnknownField(where, name string, known []string) string {
	note := fmt.Sprintf("%s has the unknown field %.64q, which is ignored", where, name)
	if hint := nearest.Suggest(name, known); hint != "" {
		note += "; " + hint
	}
	return note
}
