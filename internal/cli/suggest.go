package cli

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// meant is the fix for a name that is not there: the one that was probably meant, and where to look
// otherwise.
func meant(name string, known []string, otherwise string) string {
	if near := nearest.Word(name, known); near != "" && near != name {
		return fmt.Sprintf("did you mean %s? %s", near, otherwise)
	}
	return otherwise
}
