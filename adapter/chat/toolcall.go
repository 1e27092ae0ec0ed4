package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// interruptedTool is the result of a call that never came to its end.
const interruptedTool = "interrupted"

// A toolCall is one call of a tool on its way. The goroutine that runs it owns
// it until done is closed.
type toolCall struct {
	turn  *run
	asked model.ToolCall // as the model made it
	call  model.ToolCall // as plugins left it
	use   ToolUse
	done  chan struct{}
}

func newToolCall(r *run, c model.ToolCall) *toolCall {
	return &toolCall{turn: r, asked: c, call: c, done: make(chan struct{}),
		use: ToolUse{Name: c.Name, Arguments: c.Arguments, CallID: c.ID, Result: interruptedTool, Error: interruptedTool}}
}

// toolPayload is a call on the bus. The fields are those of the points.
type toolPayload struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	*toolOutcome
	about
}

// toolOutcome is what tool.after has beside the call.
type toolOutcome struct {
	Result  string  `json:"result"`
	Success bool    `json:"success"`
	Error   *string `json:"error"`
}

func (c *toolCall) payload(outcome *toolOutcome) toolPayload {
	return toolPayload{Tool: c.call.Name, CallID: c.asked.ID, Arguments: c.call.Arguments, toolOutcome: outcome, about: c.turn.about}
}

// run takes the call through plugins and tool, and leaves what came of it in
// c.use. The error is that of a plugin whose failure aborts the turn.
func (c *toolCall) run(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // never begun
	}
	began := time.Now()
	c.turn.emit(Event{Type: ToolStarted, Tool: c.shown()})
	result, err := c.stages(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		result, err = failed(interruptedTool), nil
	case err != nil:
		result = failed("not finished: " + err.Error())
	}
	c.record(result, time.Since(began))
	finished := c.use
	c.turn.emit(Event{Type: ToolFinished, Tool: &finished})
	return err
}

// stages: before, resolve, the tool, after.
func (c *toolCall) stages(ctx context.Context) (ToolResult, error) {
	answer, err := c.before(ctx)
	if err != nil || answer != nil {
		return deref(answer), err // seed 003: "Returning stop prevents the tool from executing"; nothing comes after it
	}
	answer, denied, err := c.resolve(ctx)
	if err != nil || denied {
		return deref(answer), err
	}
	if answer == nil {
		result, ran := c.execute(ctx)
		if !ran {
			return result, nil
		}
		answer = &result
	}
	return c.after(ctx, *answer)
}

func deref(r *ToolResult) ToolResult {
	if r == nil {
		return ToolResult{}
	}
	return *r
}

// before lets plugins change the call, or answer in the tool's place.
func (c *toolCall) before(ctx context.Context) (*ToolResult, error) {
	out, fields, err := c.fire(ctx, hook.ToolBefore, nil)
	if err != nil {
		return nil, err
	}
	switch out.Verdict {
	case hook.Deny:
		return c.refused(out), nil
	case hook.Stop:
		return c.answered(out, fields), nil
	}
	// The id is the model's: results are told apart by it.
	c.call.Name = plain(fields, "tool")
	if arguments := fields.Get("arguments"); !bytes.Equal(arguments, c.call.Arguments) {
		c.call.Malformed = "" // a plugin wrote them anew
		c.call = withArguments(c.call, arguments)
	}
	return nil, nil
}

// resolve asks whether a plugin runs this tool. Seed 004: "First plugin to
// return a result wins".
func (c *toolCall) resolve(ctx context.Context) (answer *ToolResult, denied bool, err error) {
	out, fields, err := c.fire(ctx, hook.ToolResolve, nil)
	if err != nil {
		return nil, false, err
	}
	switch out.Verdict {
	case hook.Deny:
		return c.refused(out), true, nil
	case hook.Stop:
		return c.answered(out, fields), false, nil
	}
	return nil, false, nil
}

// after lets plugins change the result.
func (c *toolCall) after(ctx context.Context, was ToolResult) (ToolResult, error) {
	outcome := &toolOutcome{Result: was.Output, Success: was.Success}
	if was.Error != "" {
		outcome.Error = &was.Error
	}
	out, fields, err := c.fire(ctx, hook.ToolAfter, outcome)
	if err != nil {
		return ToolResult{}, err
	}
	if out.Verdict == hook.Deny {
		return *c.refused(out), nil
	}
	return readResult(fields), nil
}

func (c *toolCall) fire(ctx context.Context, point hook.Point, outcome *toolOutcome) (*hook.Outcome, hook.Object, error) {
	out, err := c.turn.fire(ctx, point, c.payload(outcome))
	if err != nil {
		return nil, nil, err
	}
	fields, err := rawjson.Parse(out.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the payload came back as no object: %w", point, err)
	}
	return out, fields, nil
}

// refused is a plugin's no to the call, which the model is told.
func (c *toolCall) refused(out *hook.Outcome) *ToolResult {
	c.use.ResolvedBy = &out.By
	result := failed(fmt.Sprintf("refused by plugin %s: %s", out.By, or(out.Reason, "no reason given")))
	return &result
}

// answered is a plugin's answer in the tool's place. One without a result is a
// plugin that only meant to stop the tool.
func (c *toolCall) answered(out *hook.Outcome, fields hook.Object) *ToolResult {
	if missing(fields.Get("result")) {
		return c.refused(out)
	}
	c.use.ResolvedBy = &out.By
	result := readResult(fields)
	return &result
}

// readResult reads a result from a payload; one that says nothing of its success is one.
func readResult(fields hook.Object) ToolResult {
	return ToolResult{Output: plain(fields, "result"), Success: string(fields.Get("success")) != "false", Error: plain(fields, "error")}
}

// execute runs the tool, where it exists, takes these arguments, and may. It
// tells whether there was anything to run.
func (c *toolCall) execute(ctx context.Context) (result ToolResult, ran bool) {
	tool, fault := find(c.turn.offered, c.call.Name)
	if fault == "" {
		fault = misfit(tool, c.call)
	}
	if fault == "" {
		fault = c.forbidden(ctx, tool)
	}
	if fault != "" {
		return failed(fault), false
	}
	result, err := c.perform(ctx, tool)
	switch {
	case err != nil && ctx.Err() != nil:
		return failed(interruptedTool), false
	case err != nil:
		return failed(err.Error()), true
	}
	if !result.Success && result.Output == "" {
		result.Output = result.Error
	}
	result.Output = cutMiddle(result.Output, maxOutput)
	return result, true
}

// forbidden asks the user about a tool that may change things, one question at
// a time. It says why the tool must not run; "" where it may.
func (c *toolCall) forbidden(ctx context.Context, tool *Tool) string {
	if !tool.Changes || c.turn.agent.Approve == nil {
		return ""
	}
	select {
	case c.turn.approval <- struct{}{}:
		defer func() { <-c.turn.approval }()
	case <-ctx.Done():
		return interruptedTool
	}
	approval, err := c.turn.agent.Approve(ctx, *tool, c.call)
	switch {
	case ctx.Err() != nil:
		return interruptedTool
	case err != nil:
		return "not allowed: nobody could be asked: " + err.Error()
	case !approval.Allowed:
		return "not allowed: " + or(approval.Reason, "the user refused")
	}
	return ""
}

// perform calls the tool. One that panics has failed, and the turn goes on.
func (c *toolCall) perform(ctx context.Context, tool *Tool) (result ToolResult, err error) {
	if tool.Run == nil {
		return ToolResult{}, errors.New("the tool cannot be run")
	}
	defer func() {
		if p := recover(); p != nil {
			c.turn.logger.Error("tool panicked", "tool", tool.Name, "plugin", tool.Plugin,
				"err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("the tool crashed: this is a fault in the tool, not in the arguments")
		}
	}()
	return tool.Run(ctx, Call{ID: c.asked.ID, Session: c.turn.turn.Session, Arguments: c.call.Arguments, Progress: c.progress()})
}

// progress shows output as it comes. It uses nothing of the call: a tool may go
// on talking after it returned.
func (c *toolCall) progress() func(string) {
	shown, watch := *c.shown(), c.turn.watch
	return func(text string) {
		tool := shown
		watch.tell(Event{Type: ToolOutput, Tool: &tool, Text: text})
	}
}

// shown is the call before there is a result.
func (c *toolCall) shown() *ToolUse {
	return &ToolUse{Name: c.call.Name, Arguments: c.call.Arguments, CallID: c.asked.ID}
}

// record fills in what came of the call.
func (c *toolCall) record(result ToolResult, took time.Duration) {
	c.use.Name, c.use.Arguments = c.call.Name, c.call.Arguments
	c.use.Result, c.use.Success, c.use.Error = told(result), result.Success, ""
	if !result.Success {
		c.use.Error = or(result.Error, result.Output)
	}
	c.use.DurationMS = took.Milliseconds()
}

// told is a result as the model is told it: the output, and the error where the
// output does not say it already.
func told(r ToolResult) string {
	text := cutMiddle(r.Output, maxOutput)
	if r.Error == "" || strings.Contains(text, r.Error) {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "error: " + cutMiddle(r.Error, maxOutput/16)
}

func failed(why string) ToolResult { return ToolResult{Output: why, Error: why} }
