package python

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A LoadError says why a file is not a plugin: it is not valid Python, it failed while it ran, or
// it needs another API version.
type LoadError struct {
	Problem dialect.Problem

	Warnings []Warning // what else is wrong with the file

	reaches bool      // it failed because of a file, a module or the network
	tried   bool      // it was tried in a sandbox without files, modules and network
	kind    hook.Kind // how it ended the interpreter; "": it did not
}

// Tried reports whether the code may have failed only because it was tried in a sandbox without
// access to anything.
func (e *LoadError) Tried() bool { return e.tried }

// Unwrap lets errors.Is recognise code that hangs ([hook.Timeout]) and code that ends the
// interpreter ([hook.Crash]).
func (e *LoadError) Unwrap() error {
	if e.kind == "" {
		return nil
	}
	return e.kind
}

// tooLong returns the error of code that did not finish loading in time.
func tooLong(path string, at place, within time.Duration) error {
	return stopped(hook.Timeout, path, at, fmt.Sprintf("%s took more than %s to load", filepath.Base(path), within))
}

// The fixes for code that hangs, and for code that ends the interpreter.
var stopFixes = map[hook.Kind]string{
	hook.Timeout: "do slow work in a handler, not at the top of the file",
	hook.Crash:   "remove what ends the process, such as os._exit: the other plugins need it too",
}

// fatal returns the error of code that ended the interpreter while it was loaded.
func fatal(path string, process *proc.Process) error {
	return stopped(hook.Crash, path, place{}, "the code ended the interpreter: "+process.Exit().String())
}

func stopped(kind hook.Kind, path string, at place, message string) error {
	e := &LoadError{kind: kind, Problem: dialect.Problem{Path: path, Message: message, Fix: stopFixes[kind]}}
	if at.path != "" {
		e.Problem.Line, e.Problem.Column = at.line, 1
	}
	return e
}

// Error returns place and message, in the format of compilers.
func (e *LoadError) Error() string {
	p := &e.Problem
	if p.Line == 0 {
		return p.Path + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
}

// Problems lists the faults of the file. Python stops at the first; the others are found by
// reading.
func (e *LoadError) Problems() []dialect.Problem {
	p := e.Problem
	p.Fix = e.Fix()
	list := []dialect.Problem{p}
	for _, w := range e.Warnings {
		list = append(list, dialect.Problem{Path: p.Path, Message: w.Text, Fix: w.Fix})
	}
	return list
}

// Fix returns how to correct the file.
func (e *LoadError) Fix() string {
	if e.Problem.Fix == "" && e.Problem.Line > 0 {
		return fmt.Sprintf("correct line %d", e.Problem.Line)
	}
	return cmp.Or(e.Problem.Fix, "correct the file")
}

// loadFailure returns a [*LoadError] if the runner reports a fault of the file.
func loadFailure(path string, err error, process *proc.Process) error {
	rpc, ok := errors.AsType[*wire.RPCError](err)
	if !ok || rpc.Code != codeLoadFailed {
		return callFailure(err, process)
	}
	var place placeJSON
	if len(rpc.Data) > 0 {
		if err := json.Unmarshal(rpc.Data, &place); err != nil {
			return hook.Failure(hook.Garbled, err)
		}
	}
	return &LoadError{reaches: place.Reaches, Warnings: warnings(place.Warnings, place.Fixes),
		Problem: dialect.Problem{Path: path, Line: place.Line, Column: place.Column, Message: rpc.Message, Fix: place.Fix}}
}

// logged returns a failure that the runner has already logged in the words of the protocol.
func logged(kind hook.Kind, err error) error {
	return &hook.Error{Kind: kind, Err: err, Logged: true}
}

// callFailure turns the error of a request into a [hook.Error].
func callFailure(err error, process *proc.Process) error {
	switch {
	case errors.Is(err, wire.ErrBacklog):
		return hook.Failure(hook.Unavailable, err)
	case errors.Is(err, wire.ErrTooLarge) && !errors.Is(err, wire.ErrRequestTooLarge):
		return hook.Failure(hook.TooLarge, dialect.WithFix(err, fmt.Sprintf("return less: an answer may have at most %d MiB", largest>>20)))
	}
	rpc, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		return dialect.CallFailure(err, process)
	}
	switch rpc.Code {
	case codeTimedOut:
		return logged(hook.Timeout, errors.New(withoutName(rpc.Message)))
	case codeTooDeep:
		return hook.Failure(hook.Garbled, errors.New(withoutName(rpc.Message)))
	case codeFailed:
		return logged(hook.Refused, errors.New(withoutName(rpc.Message)+raisedAt(rpc.Data)))
	}
	return hook.Failure(hook.Refused, rpc)
}

// withoutName removes "Plugin N HOOK" from the start of a line that the runner has logged. The hub
// adds the names in its own way.
func withoutName(line string) string {
	for _, verb := range []string{"failed: ", "timed out after "} {
		if at := strings.Index(line, " "+verb); at >= 0 {
			return line[at+1:]
		}
	}
	return line
}

// raisedAt returns the type and the line of an exception. Its text alone may say too little: that
// of a KeyError is only the key.
func raisedAt(data json.RawMessage) string {
	var r raisedJSON
	if err := json.Unmarshal(data, &r); err != nil || r.Line == 0 {
		return ""
	}
	if r.Type == "" { // the text has it
		return fmt.Sprintf(" (line %d)", r.Line)
	}
	return fmt.Sprintf(" (%s, line %d)", r.Type, r.Line)
}
