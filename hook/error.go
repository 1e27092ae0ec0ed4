package hook

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// An Error is a failed call to a plugin: which one, where, how, and what it said. A dialect returns
// one with Kind, Err and Stderr set; [Do] fills in the rest. Any other error a dialect returns is
// wrapped in one.
type Error struct {
	Plugin  string
	Dialect string
	Hook    string // the dialect's own name of the hook, tool or method called
	Point   Point  // "" for tools and methods
	Kind    Kind
	Stderr  string // the last lines the plugin wrote there, if any
	Logged  bool   // the dialect has logged it in the words of its protocol
	Err     error
}

// Failure is short for the part of an Error that a dialect knows.
func Failure(kind Kind, err error) *Error { return &Error{Kind: kind, Err: err} }

// Error names the plugin, the point and the cause.
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
	if tail := LastWords(e.Stderr); tail != "" {
		b.WriteString(" (stderr: " + tail + ")")
	}
	return b.String()
}

// Cause says what happened, without the plugin, the hook and the point.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the error's Kind, so that errors.Is(err, hook.Timeout) works.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// newCallError makes err an *Error of this call. The dialect's own is copied, never changed: a plugin that
// is down may hand the same error to many callers.
func newCallError(err error, c *Call) *Error {
	e := &Error{Kind: kindOf(err), Err: err}
	if own, ok := errors.AsType[*Error](err); ok {
		*e = *own
	}
	e.Plugin, e.Dialect, e.Hook, e.Point = c.Plugin, c.Dialect, c.Name, c.Point
	return e
}

// kindOf is how a call failed, by the dialect's word where it has one.
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

// LastWords is the line of what a program wrote to stderr that tells most of its end: the last one
// that speaks of an error. Interpreters print more after it, such as their version. Where none does
// it is the last line. It is cut, and valid UTF-8.
func LastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	line := lines[len(lines)-1]
	for _, l := range slices.Backward(lines[max(0, len(lines)-lastLines):]) {
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

// lastLines is how far from the end a line can be that says why a program ended.
const lastLines = 20
