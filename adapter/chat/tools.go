package chat

import (
	"context"
	"fmt"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// parallel is how many tools of one reply run at once. Models rarely ask for
// more, and each may be a process.
const parallel = 8

// runTools runs the tool calls of one reply, several at once, and puts their
// results into the log in the order of the calls, each as soon as those before
// it are there. Every call gets a result, however the turn goes on: a
// conversation with a call left open could not be continued.
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
		if err := r.append(ctx, toolMessage(c.asked, c.use.Result, c.use.Success)); err != nil {
			abort(err)
			return err
		}
	}
	if callCtx.Err() != nil {
		return context.Cause(callCtx)
	}
	return nil
}

// startWorkers runs the calls, in their order, on a few goroutines. Each owns
// the call it is at, until it closes the call's done.
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

// maxOutput is how much of a tool's output is kept: 256 KiB is some 64,000
// tokens, more than any model makes use of at once.
const maxOutput = 256 << 10

// cutMiddle keeps the beginning and the end of a text that is too long, and
// says how much is missing. No character is cut in two.
func cutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/2, len(text)-most/2
	for head > 0 && !startsRune(text[head]) {
		head--
	}
	for tail < len(text) && !startsRune(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[… %d bytes left out …]\n\n%s", text[:head], tail-head, text[tail:])
}

// startsRune: every byte but a continuation byte of UTF-8 starts a character.
func startsRune(b byte) bool { return b&0xC0 != 0x80 }
