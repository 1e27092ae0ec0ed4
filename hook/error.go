package hook

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// An Error describes a failed call to a plugin. The dialect sets Kind, Err, Stderr and Logged; [Do]
// fills in the other fields. Do wraps every other error that a dialect returns in an Error.
type Error struct {
	Plugin  string
	Dialect string
	Hook    string // the hook, tool or method, as the dialect names it
	Point   Point  // "" for tools and methods
	Kind    Kind
	Stderr  string // the last lines that the plugin wrote to stderr, if any
	Logged  bool   // the dialect has already logged the error
	Err     error
}

// Failure returns an Error with the two fields that every dialect sets.
func Failure(kind Kind, err error) *Error { return &Error{Kind: kind, Err: err} }

// Error returns a message with the plugin, the dialect, the hook, the point, the cause and the line
// of stderr that [ReasonLine] chooses.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Plugin != "" {
		b.WriteString("plugin " + e.Plugin)
		if e.Dialect != "" {
			b.WriteString(" (" + e.Dialect + ")")
		}
	}
	if e.Hook != "" {
		b.WriteString(" " + e.Hook)
	}
	if e.Point != "" {
		b.WriteString(" at " + string(e.Point))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.cause())
	if tail := ReasonLine(e.Stderr); tail != "" {
		b.WriteString(" (stderr: " + tail + ")")
	}
	return b.String()
}

// Cause returns the message of Error without the plugin, the hook and the point.
func (e *Error) Cause() string {
	bare := *e
	bare.Plugin, bare.Hook, bare.Point = "", "", ""
	return bare.Error()
}

func (e *Error) cause() string {
	if e.Err == nil {
		return string(e.Kind)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's Kind, so that errors.Is(err, hook.Timeout) works.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// newCallError returns err as an *Error of the call c. If err is an *Error already, it is copied: a
// plugin that is not running may return the same error to many callers.
func newCallError(err error, c *Call) *Error {
	e := &Error{Kind: kindOf(err), Err: err}
	if own, ok := errors.AsType[*Error](err); ok {
		*e = *own
	}
	e.Plugin, e.Dialect, e.Hook, e.Point = c.Plugin, c.Dialect, c.Name, c.Point
	return e
}

// kindOf returns how a call failed: the dialect's kind if err has one, otherwise Timeout or
// Unknown.
func kindOf(err error) Kind {
	if own, ok := errors.AsType[*Error](err); ok && own.Kind != "" {
		return own.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	return Unknown
}

// ReasonLine returns the line of a program's stderr that best explains why it ended: the last line
// with the word "error", or else the last line. Interpreters print more after the error, such as
// their version. A long line is cut, and the result is valid UTF-8.
func ReasonLine(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	line := lines[len(lines)-1]
	for _, l := range slices.Backward(lines[max(0, len(lines)-reasonLines):]) {
		if strings.Contains(strings.ToLower(l), "error") {
			line = strings.TrimSpace(l)
			break
		}
	}
	const most = 300
	if len(line) > most {
		line = line[:most] + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// reasonLines is how many lines, counted from the end, ReasonLine looks at.
const reasonLines = 20
