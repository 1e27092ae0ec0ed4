package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// question is the message of the user, typed in a hurry.
const question = "  pls count the words in   notes.md "

// script holds the replies of the model: a useful tool call, a dangerous one, and an answer that
// contains a secret.
var script = model.Script{
	{Text: "I will count them.", Tools: []model.ScriptedCall{
		{Name: "plugin_words_count", Arguments: json.RawMessage(`{"text":"to be or not to be"}`)}}},
	{Text: "And now I tidy up.", Tools: []model.ScriptedCall{
		{Name: shellTool, Arguments: json.RawMessage(`{"cmd":"rm -rf /"}`)}}},
	{Text: "There are 6 words. Your key is sk-demo-0123456789abcdef."},
}

// turn plays one turn of the agent of `patchbay chat`, with a scripted model.
func (s *show) turn(ctx context.Context) error {
	s.part("One turn of the agent. The model is scripted; everything else is real")
	tell := &telling{show: s}
	agent := &chat.Agent{Host: s.host, Model: model.Offline(script), Tools: s.tools, Logger: s.Logger}
	result, err := agent.Run(ctx, chat.Turn{
		ID:      "demo",
		Session: session.Session{ID: "demo", WorkingDir: s.dir},
		Log:     chat.NewMemoryLog(),
		Text:    question,
		Observe: tell.observe,
	})
	if err := errors.Join(err, tell.err); err != nil {
		return err
	}
	return wentWell(result)
}

// wentWell checks that the guard answered instead of the shell.
func wentWell(result *chat.Result) error {
	if result.Status != session.Done {
		return fmt.Errorf("the turn is %s: %s", result.Status, result.Reason)
	}
	for _, use := range result.Tools {
		if use.Name == shellTool && (use.ResolvedBy == nil || *use.ResolvedBy != "guard") {
			return errors.New("the guard let a dangerous command pass")
		}
	}
	return nil
}

// tools returns the tools of the plugins, and a shell.
func (s *show) tools() []chat.Tool {
	tools := []chat.Tool{noShell}
	for _, t := range s.host.Tools() {
		tools = append(tools, chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Plugin: t.Plugin,
			Run: func(ctx context.Context, call chat.Call) (chat.ToolResult, error) {
				r, err := s.host.CallTool(ctx, t.Name, call.Arguments)
				if err != nil {
					return chat.ToolResult{}, err
				}
				return chat.ToolResult{Output: r.Result, Success: r.Success, Error: r.Error}, nil
			}})
	}
	return tools
}

const shellTool = "shell"

// noShell is offered to the model as the shell, and never runs a command: the command of the model
// must not run even if every plugin fails.
var noShell = chat.Tool{Name: shellTool, Description: "Runs a command", Changes: true,
	Run: func(context.Context, chat.Call) (chat.ToolResult, error) {
		return chat.ToolResult{}, errors.New("the demo has no shell")
	}}
