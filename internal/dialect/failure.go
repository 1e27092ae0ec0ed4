package dialect

import (
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// exitWait is how long a call that lost its pipe waits for the process to exit. The end of the pipe
// and the exit are moments apart.
const exitWait = time.Second

// UnansweredFix says what the author of a long-lived plugin can do if its first request gets no
// answer.
const UnansweredFix = "end each answer with a newline, and flush stdout after it (in Python: print(…, flush=True)); if the plugin needs longer to start, answer initialize before that"

// CallFailure turns the error of a JSON-RPC call to a long-lived plugin into a [hook.Error]. The
// error of a context is returned unchanged: the hub knows whose context it was.
func CallFailure(err error, p *proc.Process) error {
	switch {
	case errors.Is(err, wire.ErrRequestTooLarge):
		return hook.Failure(hook.TooLarge, WithFix(err, "send less: the protocol allows no larger message"))
	case errors.Is(err, wire.ErrTooLarge):
		return hook.Failure(hook.TooLarge, err)
	case errors.Is(err, wire.ErrClosed):
		return crash(err, p)
	case errors.Is(err, wire.ErrBacklog):
		return hook.Failure(hook.Unavailable, err)
	}
	if _, ok := errors.AsType[*wire.RPCError](err); ok {
		return hook.Failure(hook.Refused, err)
	}
	if _, ok := errors.AsType[*wire.MalformedError](err); ok {
		return hook.Failure(hook.Garbled, err)
	}
	return err
}

// Unambiguous returns an error if a field of an answer has two values.
func Unambiguous(answer wire.Result) error {
	if answer.Ambiguous == nil {
		return nil
	}
	return hook.Failure(hook.Garbled, fmt.Errorf("%w: %.80q", answer.Ambiguous, answer.JSON))
}

// crash reports how the plugin's process ended, with the end of its stderr.
func crash(err error, p *proc.Process) error {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-p.Done():
		return &hook.Error{Kind: hook.Crash, Err: fmt.Errorf("the process ended: %s", p.Exit()), Stderr: p.Stderr()}
	case <-timer.C:
		return &hook.Error{Kind: hook.Crash, Err: fmt.Errorf("it closed its end of the pipe: %w", err), Stderr: p.Stderr()}
	}
}
