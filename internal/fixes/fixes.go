// Package fixes finds what a person can do about an error. An error that knows its fix has a method
// Fix. Its text ends with "; " and the fix, so that code that prints only the text shows the fix
// too. Commands, findings and logs show the fix on a line, or in a field, of its own.
package fixes

import (
	"errors"
	"strings"
)

// Of returns the fix of the first error in err's tree that has a method Fix, or "".
func Of(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok {
		return e.Fix()
	}
	return ""
}

// Split returns the text of an error without its fix, and the fix; "" if it has none.
func Split(err error) (text, fix string) {
	fix = Of(err)
	return Without(err.Error(), fix), fix
}

// Without returns the text of an error without the fix with which it ends.
func Without(text, fix string) string {
	if fix == "" {
		return text
	}
	return strings.TrimSuffix(text, "; "+fix)
}
