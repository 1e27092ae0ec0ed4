package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// suggestName returns the fix for a name that does not exist: the name that was probably meant, if
// there is one, and the text in otherwise. A name may also be longer than the one that was meant:
// claude-code leads to claude.
func suggestName(name string, known []string, otherwise string) string {
	near := nearest.Word(name, known)
	if first, _, longer := strings.Cut(name, "-"); near == "" && longer && slices.Contains(known, first) {
		near = first
	}
	if near != "" && near != name {
		return fmt.Sprintf("did you mean %s? %s", near, otherwise)
	}
	return otherwise
}
