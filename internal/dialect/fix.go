package dialect

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// A fixable error says how to fix it: its text ends with that, and commands show it apart.
type fixable struct {
	err error
	fix string
}

// WithFix adds to an error what mends it; without a fix the error stays as it is.
func WithFix(err error, fix string) error {
	if err == nil || fix == "" {
		return err
	}
	return &fixable{err, fix}
}

func (e *fixable) Error() string { return e.err.Error() + "; " + e.fix }
func (e *fixable) Unwrap() error { return e.err }

// Fix is what mends it.
func (e *fixable) Fix() string { return e.fix }

// Meant is the fix for a name that is not known: the one that was probably meant; "" where none is
// near.
func Meant(name string, known []string) string {
	if near := nearest.Word(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// NoHook is the error of a connection that names a hook which its plugin does not have.
func NoHook(plugin, name string, have []string) error {
	return WithFix(fmt.Errorf("plugin %s has no hook %q", plugin, name), nearest.Suggest(name, have))
}

// NoMeaning is the error of a connection to a point where a hook cannot be asked; points are those
// where it can.
func NoMeaning(dialect string, want Spot, points []string) error {
	return WithFix(fmt.Errorf("%s hook %s has no meaning at %s", dialect, want.Hook, want.Point), "connect it to "+strings.Join(points, ", "))
}
