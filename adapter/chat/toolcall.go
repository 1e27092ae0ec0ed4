package chat

import (
	"context"
	"time"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// A toolCall is one call of a tool in a turn. The goroutine that runs it owns it until done is
// closed.
type toolCall struct {
	*adapter.ToolCall
	turn *run
	use  ToolUse
	wait time.Duration // for the user's answer; it is not part of the tool's duration
	done chan struct{}
}

func newToolCall(r *run, c model.ToolCall) *toolCall {
	call := &toolCall{turn: r, done: make(chan struct{}),
		use: ToolUse{Name: c.Name, Arguments: c.Arguments, CallID: c.ID, Result: adapter.InterruptedTool, Error: adapter.InterruptedTool}}
	call.ToolCall = adapter.NewToolCall(&adapter.ToolHost{Fire: r.fire, About: r.about, Session: r.turn.Session, Tools: r.offered,
		Forbid: call.askUser, Progress: call.progress, Logger: r.logger}, c)
	return call
}

// run takes the call through plugins and tool, and stores the result in c.use. It returns the error
// of a plugin whose failure aborts the turn.
func (c *toolCall) run(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // not started
	}
	began := time.Now()
	c.turn.emit(Event{Type: ToolStarted, Tool: c.pending()})
	result, err := c.Run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		result, err = adapter.Failed(adapter.InterruptedTool), nil
	case err != nil:
		result = adapter.Failed("not finished: " + err.Error())
	}
	c.record(result, time.Since(began)-c.wait)
	finished := c.use
	c.turn.emit(Event{Type: ToolFinished, Tool: &finished})
	return err
}

// askUser asks the user about a tool that may change things. It returns why the tool must not run;
// "" if it may.
func (c *toolCall) askUser(ctx context.Context, tool *Tool, call model.ToolCall) string {
	if c.turn.agent.Approve == nil {
		return ""
	}
	began := time.Now()
	defer func() { c.wait += time.Since(began) }()
	approval, err := c.turn.agent.Approve(ctx, *tool, call)
	switch {
	case ctx.Err() != nil:
		return adapter.InterruptedTool
	case err != nil:
		return "not allowed: the question could not be asked: " + err.Error()
	case !approval.Allowed:
		return "not allowed: " + or(approval.Reason, "the user refused")
	}
	return ""
}

// progress returns a function that shows output of the tool. That function uses nothing of the
// call, because a tool may still produce output after it has returned.
func (c *toolCall) progress() func(string) {
	shown, watch := *c.pending(), c.turn.watch
	return func(text string) {
		tool := shown
		watch.send(Event{Type: ToolOutput, Tool: &tool, Text: text})
	}
}

// pending returns the call as it is shown before there is a result.
func (c *toolCall) pending() *ToolUse {
	return &ToolUse{Name: c.Call.Name, Arguments: c.Call.Arguments, CallID: c.Asked.ID}
}

// record stores the result of the call.
func (c *toolCall) record(result ToolResult, took time.Duration) {
	c.use.Name, c.use.Arguments, c.use.ResolvedBy = c.Call.Name, c.Call.Arguments, c.ResolvedBy
	c.use.Result, c.use.Success, c.use.Error = adapter.TextForModel(result), result.Success, ""
	if !result.Success {
		c.use.Error = or(result.Error, result.Output)
	}
	c.use.DurationMS = took.Milliseconds()
}
