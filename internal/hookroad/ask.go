package hookroad

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

// Pauses between two tries: a daemon that makes room for another is away for a moment.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// mostStarts is how often a daemon is started for one event. One that ends again and again is not
// started a fourth time.
const mostStarts = 3

// ask asks whoever can answer, until ctx ends. A daemon that goes away in mid-answer is asked
// again, or the one that takes its place: an event may reach plugins twice then, but never not at
// all.
func (r *road) ask(ctx context.Context, in codehook.Input) (*Answer, error) {
	if r.fault != nil {
		return nil, r.fault
	}
	request := NewRequest(in, r.Version)
	starts := 0
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		a, err := exchange(ctx, r.socket, r.Agent, request)
		switch {
		case err == nil:
			return a, nil
		case ctx.Err() != nil:
			return nil, late(ctx, err)
		case errors.Is(err, errNobody) || errors.Is(err, errVersion):
			started, startErr := r.start(ctx)
			if started {
				starts++
				if errors.Is(err, errVersion) { // patchbay beside us may be of another version than we are: then it is right as it is
					request.Version = ""
				}
			}
			if startErr != nil || starts > mostStarts {
				return r.inProcess(ctx, request, errors.Join(err, startErr))
			}
		case errors.Is(err, errForeign):
			return r.inProcess(ctx, request, err)
		case !errors.Is(err, errGone):
			return nil, err
		}
		if pause.For(ctx, wait) != nil {
			return nil, late(ctx, err)
		}
	}
}

// late is the error of an event that was given up, with the last thing that went wrong.
func late(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || errors.Is(err, cause) {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// inProcess has the event answered by a process that opens the plugins for itself: this one, or
// patchbay.
func (r *road) inProcess(ctx context.Context, request Request, why error) (*Answer, error) {
	if ctx.Err() != nil {
		return nil, late(ctx, why)
	}
	if at, ok := ctx.Deadline(); ok {
		request.Deadline = max(time.Until(at).Milliseconds(), 1)
	}
	answer := r.InProcess
	if answer == nil {
		answer = r.standIn
	}
	a, err := answer(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("%w, and in process: %w", why, err)
	}
	return a, nil
}

// StandInFlag makes `patchbay hook AGENT` read a [Request] and write an [Answer].
const StandInFlag = "--in-process"

func (r *road) standIn(ctx context.Context, request Request) (*Answer, error) {
	program, err := r.program()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	text, err := detached.StandIn{Path: program, Args: []string{"hook", string(r.Agent), StandInFlag}, Env: cleaned(r.Environ, r.Dir), Dir: r.Dir,
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
