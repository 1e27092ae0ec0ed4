package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
)

// An UnaskedError reports that a process listens on the socket of a daemon and gives no answer, or
// none that this version can read.
type UnaskedError struct {
	Socket string
	PID    int // of the process; 0: not known
	Err    error
}

func (e *UnaskedError) Error() string {
	who := "the daemon"
	if e.PID != 0 {
		who = fmt.Sprintf("the daemon (process %d)", e.PID)
	}
	return fmt.Sprintf("%s on %s %s; %s", who, e.Socket, e.cause(), e.Fix())
}

func (e *UnaskedError) Unwrap() error { return e.Err }

// Fix tells what to do about it.
func (e *UnaskedError) Fix() string {
	switch {
	case e.ended():
		return "run the command again"
	case e.PID == 0:
		return "end it where it was started, and start `patchbay serve`"
	case e.silent():
		return fmt.Sprintf("if it stays so, `kill -9 %d` ends it, and the next daemon cleans up", e.PID)
	}
	return fmt.Sprintf("end it with `kill %d`, and start `patchbay serve`", e.PID)
}

func (e *UnaskedError) silent() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

func (e *UnaskedError) ended() bool {
	return errors.Is(e.Err, io.EOF) || errors.Is(e.Err, io.ErrUnexpectedEOF) || errors.Is(e.Err, syscall.ECONNRESET) || errors.Is(e.Err, syscall.EPIPE)
}

func (e *UnaskedError) cause() string {
	if e.silent() {
		return "does not answer"
	}
	if isJSONError(e.Err) {
		return "gives an answer that this version of Patchbay cannot read"
	}
	if e.ended() {
		return "ended before it answered"
	}
	return "cannot be asked: " + withoutURL(e.Err).Error()
}

// isJSONError reports whether text was not JSON, or not that of the wanted type.
func isJSONError(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

// withoutURL returns the error of a request without the method and the address, which the user did
// not write.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
