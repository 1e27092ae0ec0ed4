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

// runTools runs the tool calls of one reply, several at once. It adds their results to the log in
// the order of the calls, each as soon as the results before it are there. Every call gets a
// result, however the turn ends: a conversation with an open call could not continue.
//
// If a plugin's failure aborts the turn, the other calls are interrupted.
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

// startWorkers runs the calls in order on a few goroutines. A goroutine owns the call that it runs
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

// toolMessage returns the message that tells the model the result of a call.
func toolMessage(c model.ToolCall, text string, success bool) model.Message {
	return model.Message{Role: model.ToolRole, ToolCallID: c.ID, Name: c.Name, Content: text, Failed: !success}
}

// wellFormed gives every call a unique id and an object as arguments. It never returns nil: in a
// payload the list is [].
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
