package adapter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// InterruptedTool is the result of a call that was interrupted.
const InterruptedTool = "interrupted"

// About has the fields that every event of a request has in addition to those of its point. The
// context of a python plugin is made from them, whichever of its hooks is called first. The
// _context of a kaged plugin has the session's id.
type About struct {
	SessionID  string `json:"session_id"`
	WorkingDir string `json:"working_dir"`
	UserText   string `json:"user_text"`
}

// A ToolHost is what a tool call needs from its host.
type ToolHost struct {
	Fire    func(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	About   About
	Session session.Session
	Tools   []Tool

	// Forbid returns why a tool that may change things must not run, or "" if it may. If Forbid is
	// nil, everything is allowed.
	Forbid   func(ctx context.Context, t *Tool, c model.ToolCall) string
	Progress func() func(text string) // returns the function for output as it comes; called when the tool is run
	Logger   *slog.Logger
}

// A ToolCall is one call of a tool in progress. It takes the same steps in every host. It belongs
// to the goroutine that runs it.
//
//	Run
//	  before    tool.before: plugins change the call, or answer instead of the tool
//	  resolve   tool.resolve: a plugin runs the tool
//	  execute   the tool itself
//	  after     tool.after: plugins change the result
type ToolCall struct {
	Asked model.ToolCall // as the caller made it
	Call  model.ToolCall // as plugins have changed it

	ResolvedBy *string // the plugin that answered instead of the tool; nil: the tool ran
	Failure    error   // why the tool could not be called, if that is the result

	host *ToolHost
}

// NewToolCall returns a call that has not begun.
func NewToolCall(h *ToolHost, c model.ToolCall) *ToolCall {
	return &ToolCall{Asked: c, Call: c, host: h}
}

// A toolPayload is the event of a call. The fields are those of the points.
type toolPayload struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	*toolOutcome
	About
}

// A toolOutcome has the fields that only tool.after has.
type toolOutcome struct {
	Result  string  `json:"result"`
	Success bool    `json:"success"`
	Error   *string `json:"error"`
}

// Run takes the call through plugins and the tool. It returns the error of a plugin whose failure
// aborts the whole turn or request.
func (c *ToolCall) Run(ctx context.Context) (ToolResult, error) {
	answer, err := c.before(ctx)
	if err != nil || answer != nil {
		return deref(answer), err // a plugin that stops the call answers it: docs/protocols/scaffold.md, pre_tool_execute
	}
	answer, denied, err := c.resolve(ctx)
	if err != nil || denied {
		return deref(answer), err
	}
	if answer == nil {
		result, ran := c.execute(ctx)
		if !ran || result.Pending {
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

// before lets plugins change the call, or answer instead of the tool.
func (c *ToolCall) before(ctx context.Context) (*ToolResult, error) {
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
	// Plugins cannot change the id: the caller identifies results by it.
	c.Call.Name = Plain(fields, "tool")
	if arguments := fields.Get("arguments"); !bytes.Equal(arguments, c.Call.Arguments) {
		c.Call.Malformed = "" // a plugin has rewritten them
		c.Call = WithArguments(c.Call, arguments)
	}
	return nil, nil
}

// resolve lets a plugin run the tool. The first result wins: docs/protocols/python.md,
// on_resolve_tool.
func (c *ToolCall) resolve(ctx context.Context) (answer *ToolResult, denied bool, err error) {
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

// after lets plugins change the result. If they do not, the original is returned, with Raw.
func (c *ToolCall) after(ctx context.Context, was ToolResult) (ToolResult, error) {
	outcome := &toolOutcome{Result: was.Output, Success: was.Success}
	if was.Error != "" {
		outcome.Error = &was.Error
	}
	out, fields, err := c.fire(ctx, hook.ToolAfter, outcome)
	if err != nil {
		c.Failure = nil // the plugins at tool.after may have withheld it
		return ToolResult{}, err
	}
	if out.Verdict == hook.Deny {
		c.Failure = nil
		return *c.refused(out), nil
	}
	result := readResult(fields)
	if result.Error == was.Error && strings.Contains(was.Output, was.Error) && !strings.Contains(result.Output, was.Error) {
		// Plugins of most protocols see only the text: what they removed must not come back.
		result.Error = result.Output
	}
	if result.Output == was.Output && result.Success == was.Success && result.Error == was.Error {
		return was, nil
	}
	c.Failure = nil
	return result, nil
}

func (c *ToolCall) fire(ctx context.Context, point hook.Point, outcome *toolOutcome) (*hook.Outcome, hook.Object, error) {
	out, err := c.host.Fire(ctx, point, toolPayload{Tool: c.Call.Name, CallID: c.Asked.ID, Arguments: c.Call.Arguments,
		toolOutcome: outcome, About: c.host.About})
	if err != nil {
		return nil, nil, err
	}
	fields, err := rawjson.Parse(out.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the payload that came back is not an object: %w", point, err)
	}
	return out, fields, nil
}

// refused returns the result of a call that a plugin refused, for the model.
func (c *ToolCall) refused(out *hook.Outcome) *ToolResult {
	c.ResolvedBy = &out.By
	text := fmt.Sprintf("refused by plugin %s: %s", out.By, cmp.Or(out.Reason, "no reason given"))
	if failure := out.Failure(); failure != nil {
		text = "refused, because a plugin failed: " + failure.Error()
	}
	result := Failed(text)
	return &result
}

// answered returns a plugin's answer instead of the tool's. An answer without a result is a
// refusal.
func (c *ToolCall) answered(out *hook.Outcome, fields hook.Object) *ToolResult {
	if rawjson.Missing(fields.Get("result")) {
		return c.refused(out)
	}
	c.ResolvedBy = &out.By
	result := readResult(fields)
	return &result
}

// readResult reads a result from a payload. It is a success unless the payload says otherwise.
func readResult(fields hook.Object) ToolResult {
	return ToolResult{Output: Plain(fields, "result"), Success: string(fields.Get("success")) != "false", Error: Plain(fields, "error")}
}

// execute runs the tool if it exists, accepts the arguments and is allowed. ran reports whether the
// tool was run and not interrupted.
func (c *ToolCall) execute(ctx context.Context) (result ToolResult, ran bool) {
	tool, fault := find(c.host.Tools, c.Call.Name)
	if fault == "" {
		fault = misfit(tool, c.Call)
	}
	if fault == "" && tool.Changes && c.host.Forbid != nil {
		fault = c.host.Forbid(ctx, tool, c.Call)
	}
	if fault != "" {
		return Failed(fault), false
	}
	result, err := c.perform(ctx, tool)
	switch {
	case err != nil && ctx.Err() != nil:
		return Failed(InterruptedTool), false
	case err != nil:
		c.Failure = err
		return Failed(err.Error()), true
	}
	if !result.Success && result.Output == "" {
		result.Output = result.Error
	}
	result.Output = CutMiddle(result.Output, MaxOutput)
	return result, true
}

// perform calls the tool. A panic of the tool becomes an error.
func (c *ToolCall) perform(ctx context.Context, tool *Tool) (result ToolResult, err error) {
	if tool.Run == nil {
		return ToolResult{}, errors.New("the tool cannot be run")
	}
	defer func() {
		if p := recover(); p != nil {
			c.host.Logger.Error("tool panicked", "tool", tool.Name, "plugin", tool.Plugin,
				"err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("the tool crashed: this is a fault in the tool, not in the arguments")
		}
	}()
	return tool.Run(ctx, Call{ID: c.Asked.ID, Session: c.host.Session, Arguments: c.Call.Arguments, Progress: c.host.Progress()})
}

// Plain returns a field of a payload as text. A value that is not a string is returned as JSON, and
// a missing one as "".
func Plain(fields hook.Object, name string) string {
	v := fields.Get(name)
	if text, ok := rawjson.Unquote(v); ok {
		return text
	}
	if rawjson.Missing(v) {
		return ""
	}
	return string(v)
}
