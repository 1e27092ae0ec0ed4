package cli

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// suggestName returns the fix for a name that does not exist: the name that was probably meant, if
// there is one, and the text in otherwise.
func suggestName(name string, known []string, otherwise string) string {
	if near := nearest.Word(name, known); near != "" && near != name {
		return fmt.Sprintf("did you mean %s? %s", near, otherwise)
	}
	return otherwise
}
