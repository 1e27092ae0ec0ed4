package dialect

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// A fixable error has a fix. Error returns both; commands show the fix on a line of its own.
type fixable struct {
	err error
	fix string
}

// WithFix adds a fix to an error. Without a fix it returns err unchanged.
func WithFix(err error, fix string) error {
	if err == nil || fix == "" {
		return err
	}
	return &fixable{err, fix}
}

func (e *fixable) Error() string { return e.err.Error() + "; " + e.fix }
func (e *fixable) Unwrap() error { return e.err }

// Fix returns what a person can do about the error.
func (e *fixable) Fix() string { return e.fix }

// Meant returns the fix for an unknown name, which suggests the nearest known one. It returns "" if
// none is near.
func Meant(name string, known []string) string {
	if near := nearest.Word(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// NoHook returns the error of a connection to a hook that the plugin does not have.
func NoHook(plugin, name string, have []string) error {
	fix := nearest.Suggest(name, have)
	if len(have) == 0 {
		fix = "it has no hooks: remove the connection"
	}
	return WithFix(fmt.Errorf("plugin %s has no hook %q", plugin, name), fix)
}

// NotCallable returns the error of a connection to a point where the hook cannot be called. points
// lists the points where it can be called.
func NotCallable(dialect string, want Spot, points []string) error {
	return WithFix(fmt.Errorf("%s hook %s cannot be called at %s", dialect, want.Hook, want.Point), "connect it to "+strings.Join(points, ", "))
}
