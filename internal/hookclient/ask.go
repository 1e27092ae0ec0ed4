package hookclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/proc/detached"
)

// The shortest and the longest pause between two tries. A daemon that is being replaced does not
// answer for a moment.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// mostStarts limits the starts of a daemon for one event. If there is still no daemon after that
// many, the event is answered in process.
const mostStarts = 3

// ask sends the event to a daemon until there is an answer, or ctx ends. If the daemon goes away
// before it has answered, ask sends the event again, to the same daemon or the one that replaces
// it. Plugins may then see an event twice. If there is no daemon and none can
// be started, the event is answered in process.
func (c *client) ask(ctx context.Context, in codehook.Input) (*Answer, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	request := NewRequest(in, c.Version)
	if c.remote != nil {
		return c.inProcess(ctx, request, c.remote)
	}
	starts := 0
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		a, err := exchange(ctx, c.socket, c.Agent, request)
		switch {
		case err == nil:
			return a, nil
		case ctx.Err() != nil:
			return nil, lateError(ctx, err)
		case errors.Is(err, errNoDaemon) || errors.Is(err, errVersion):
			if starts == mostStarts {
				return c.inProcess(ctx, request, err)
			}
			started, startErr := c.startDaemon(ctx)
			if started {
				starts++
				if errors.Is(err, errVersion) { // the patchbay program may be of another version than this one: accept its daemon
					request.Version = ""
				}
			}
			if startErr != nil {
				return c.inProcess(ctx, request, errors.Join(err, startErr))
			}
		case errors.Is(err, errForeign):
			return c.inProcess(ctx, request, err)
		case !errors.Is(err, errGone):
			return nil, err
		}
		if pause.For(ctx, wait) != nil {
			return nil, lateError(ctx, err)
		}
	}
}

// lateError returns the error of an event whose time is up, with the last thing that went wrong.
func lateError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// inProcess answers an event without a daemon: this process, or the patchbay program, opens the
// plugins itself.
func (c *client) inProcess(ctx context.Context, request Request, why error) (*Answer, error) {
	if ctx.Err() != nil {
		return nil, lateError(ctx, why)
	}
	if at, ok := ctx.Deadline(); ok {
		request.Deadline = max(time.Until(at).Milliseconds(), 1)
	}
	answer := c.InProcess
	if answer == nil {
		answer = c.standIn
	}
	a, err := answer(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("%w, and in process: %w", why, err)
	}
	return a, nil
}

// StandInFlag makes `patchbay hook AGENT` read a [Request] and write an [Answer].
const StandInFlag = "--in-process"

// standIn runs the patchbay program with StandInFlag.
func (c *client) standIn(ctx context.Context, request Request) (*Answer, error) {
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	text, err := detached.StandIn{Path: program, Args: []string{"hook", string(c.Agent), StandInFlag}, Env: cleanEnviron(c.Environ, c.Dir), Dir: c.Dir,
		Input: input, Most: MaxAnswer}.Run(ctx)
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", program, err)
	}
	return &a, nil
}
