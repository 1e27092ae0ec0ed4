package dialect

import (
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// mostStray limits how many unknown fields of one answer are noted.
const mostStray = 5

// StrayFields notes the fields of an answer that the protocol does not know, and the field that was
// probably meant. They change nothing, so their author must be told.
func StrayFields(o rawjson.Object, known ...string) []string {
	var notes []string
	for _, f := range o {
		if slices.Contains(known, f.Name) {
			continue
		}
		if len(notes) == mostStray {
			return append(notes, "and more unknown fields")
		}
		note := fmt.Sprintf("the field %.64q of the answer is ignored", f.Name)
		if near := Meant(f.Name, known); near != "" {
			note += ": " + near
		}
		notes = append(notes, note)
	}
	return notes
}
