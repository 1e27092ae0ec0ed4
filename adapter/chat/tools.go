package chat

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// parallel is how many tools of one reply run at once. Models rarely ask for more, and each may be
// a process.
const parallel = 8

// runTools runs the tool calls of one reply, several at once, and puts their results into the log
// in the order of the calls, each as soon as those before it are there. Every call gets a result,
// however the turn goes on: a conversation with a call left open could not be continued.
//
// A plugin's failure that aborts the turn interrupts the other calls.
func (r *run) runTools(ctx context.Context, calls []model.ToolCall) error {
	callCtx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	pending := make([]*toolCall, len(calls))
	for i, c := range calls {
		pending[i] = newToolCall(r, c)
	}
	workers := startWorkers(callCtx, pending, abort)
	defer workers.Wait()
	for _, c := range pending {
		<-c.done
		r.result.Tools = append(r.result.Tools, c.use)
		if err := r.append(ctx, toolMessage(c.Asked, c.use.Result, c.use.Success)); err != nil {
			abort(err)
			return err
		}
	}
	if callCtx.Err() != nil {
		return context.Cause(callCtx)
	}
	return nil
}

// startWorkers runs the calls, in their order, on a few goroutines. Each owns the call it is at,
// until it closes the call's done.
func startWorkers(ctx context.Context, calls []*toolCall, abort context.CancelCauseFunc) *sync.WaitGroup {
	queue := make(chan *toolCall, len(calls))
	for _, c := range calls {
		queue <- c
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(parallel, len(calls)) {
		workers.Go(func() {
			for c := range queue {
				if err := c.run(ctx); err != nil {
					abort(err)
				}
				close(c.done)
			}
		})
	}
	return &workers
}

// toolMessage is what the model is told about a call.
func toolMessage(c model.ToolCall, text string, success bool) model.Message {
	return model.Message{Role: model.ToolRole, ToolCallID: c.ID, Name: c.Name, Content: text, Failed: !success}
}

// wellFormed gives every call an id of its own and an object for arguments. The list is never nil:
// in a payload it is [].
func wellFormed(calls []model.ToolCall) []model.ToolCall {
	out := make([]model.ToolCall, len(calls))
	taken := make(map[string]bool, len(calls))
	for i, c := range calls {
		if c.ID == "" || taken[c.ID] {
			c.ID = "call_" + strings.ToLower(rand.Text())
		}
		taken[c.ID] = true
		out[i] = adapter.WithArguments(c, c.Arguments)
	}
	return out
}
