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

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// InterruptedTool is the result of a call that never came to its end.
const InterruptedTool = "interrupted"

// About is what every event of a request says of it, beside the fields of its point: a python
// plugin's context is made of it, whichever of its hooks is asked first, and a kaged plugin's
// _context has the session's id.
type About struct {
	SessionID  string `json:"session_id"`
	WorkingDir string `json:"working_dir"`
	UserText   string `json:"user_text"`
}

// A ToolHost is what a tool call has around it.
type ToolHost struct {
	Fire    func(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
	About   About
	Session session.Session
	Tools   []Tool

	// Forbid says why a tool that may change things must not run; "" where it may. nil: everything
	// is allowed.
	Forbid   func(ctx context.Context, t *Tool, c model.ToolCall) string
	Progress func() func(text string) // who takes the output as it comes; asked when the tool is run
	Logger   *slog.Logger
}

// A ToolCall is one call of a tool on its way: the same way for whoever makes it. The goroutine
// that runs it owns it.
//
//	Run
//	  before    tool.before: plugins change the call, or answer in the tool's place
//	  resolve   tool.resolve: a plugin runs the tool
//	  execute   the tool itself
//	  after     tool.after: plugins change the result
type ToolCall struct {
	Asked model.ToolCall // as it was made
	Call  model.ToolCall // as plugins left it

	ResolvedBy *string // the plugin that answered in the tool's place; nil: it ran
	Failure    error   // why the tool could not be asked, where that is what the result says

	host *ToolHost
}

// NewToolCall is a call that has not begun.
func NewToolCall(h *ToolHost, c model.ToolCall) *ToolCall {
	return &ToolCall{Asked: c, Call: c, host: h}
}

// toolPayload is a call on the bus. The fields are those of the points.
type toolPayload struct {
	Tool      string          `json:"tool"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	*toolOutcome
	About
}

// toolOutcome is what tool.after has beside the call.
type toolOutcome struct {
	Result  string  `json:"result"`
	Success bool    `json:"success"`
	Error   *string `json:"error"`
}

// Run takes the call through plugins and tool. The error is that of a plugin whose failure aborts
// what the call is part of.
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

// before lets plugins change the call, or answer in the tool's place.
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
	// The id is the caller's: results are told apart by it.
	c.Call.Name = Plain(fields, "tool")
	if arguments := fields.Get("arguments"); !bytes.Equal(arguments, c.Call.Arguments) {
		c.Call.Malformed = "" // a plugin wrote them anew
		c.Call = WithArguments(c.Call, arguments)
	}
	return nil, nil
}

// resolve asks whether a plugin runs this tool. The first result wins: docs/protocols/python.md,
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

// after lets plugins change the result. What has more to it than a text stays as it is where they
// do not.
func (c *ToolCall) after(ctx context.Context, was ToolResult) (ToolResult, error) {
	outcome := &toolOutcome{Result: was.Output, Success: was.Success}
	if was.Error != "" {
		outcome.Error = &was.Error
	}
	out, fields, err := c.fire(ctx, hook.ToolAfter, outcome)
	if err != nil {
		return ToolResult{}, err
	}
	if out.Verdict == hook.Deny {
		c.Failure = nil
		return *c.refused(out), nil
	}
	result := readResult(fields)
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
		return nil, nil, fmt.Errorf("%s: the payload came back as no object: %w", point, err)
	}
	return out, fields, nil
}

// refused is a plugin's no to the call, which the model is told.
func (c *ToolCall) refused(out *hook.Outcome) *ToolResult {
	c.ResolvedBy = &out.By
	result := Failed(fmt.Sprintf("refused by plugin %s: %s", out.By, cmp.Or(out.Reason, "no reason given")))
	return &result
}

// answered is a plugin's answer in the tool's place. One without a result is a plugin that only
// meant to stop the tool.
func (c *ToolCall) answered(out *hook.Outcome, fields hook.Object) *ToolResult {
	if Missing(fields.Get("result")) {
		return c.refused(out)
	}
	c.ResolvedBy = &out.By
	result := readResult(fields)
	return &result
}

// readResult reads a result from a payload; one that says nothing of its success is one.
func readResult(fields hook.Object) ToolResult {
	return ToolResult{Output: Plain(fields, "result"), Success: string(fields.Get("success")) != "false", Error: Plain(fields, "error")}
}

// execute runs the tool, where it exists, takes these arguments, and may. It tells whether there
// was anything to run.
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

// perform calls the tool. One that panics has failed, and its caller goes on.
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

// Plain is a payload field as text: what is not a string is serialised, and nothing at all is "".
func Plain(fields hook.Object, name string) string {
	v := fields.Get(name)
	if text, ok := rawjson.Unquote(v); ok {
		return text
	}
	if Missing(v) {
		return ""
	}
	return string(v)
}

// Missing tells whether a field of a payload has no value.
func Missing(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }
