package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/hook"
)

// object is a payload written by hand.
type object map[string]any

// turn plays one agent turn. The order is that of every turn: session, input,
// context, prompt, model, tools, answer.
func (s *show) turn(ctx context.Context) error {
	s.part("One turn of an agent. The model is scripted; everything else is real")
	for _, act := range []func(context.Context) error{s.opening, s.question, s.tool, s.blockedTool, s.answer} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) opening(ctx context.Context) error {
	_, err := s.fire(ctx, "A session starts: the notebook remembers where you left off", hook.SessionStart,
		object{"session_id": "demo", "working_dir": "project", "project_root": "project"})
	if err != nil {
		return err
	}
	// A gate that a Python plugin watches to begin its count; nothing to look at.
	_, err = s.host.Fire(ctx, hook.TurnBegin, object{"session_id": "demo", "working_dir": "project", "user_text": ""})
	return err
}

func (s *show) question(ctx context.Context) error {
	out, err := s.fire(ctx, "You ask something: typing is tidied up", hook.TurnInput,
		object{"message": "  pls count the words in   notes.md "})
	if err != nil {
		return err
	}
	var input struct{ Message string }
	if err := json.Unmarshal(out.Payload, &input); err != nil {
		return err
	}
	_, err = s.fire(ctx, "The prompt is built: a plugin adds context the model could not know", hook.PromptContext,
		object{"user_message": input.Message, "dynamic_context": "# Context\nYou are a helpful agent.\n"})
	return err
}

// tool plays a tool call as an agent makes it: before, the tool, after.
func (s *show) tool(ctx context.Context) error {
	call := object{"tool": "plugin_words_count", "call_id": "1", "arguments": object{"text": "to be or not to be"}}
	if _, err := s.fire(ctx, "The model calls a tool: the guard looks at it first", hook.ToolBefore, call); err != nil {
		return err
	}
	result, err := s.host.CallTool(ctx, "plugin_words_count", call["arguments"])
	if err != nil {
		return err
	}
	call["result"], call["success"] = result.Result, result.Success
	_, err = s.fire(ctx, fmt.Sprintf("The tool answers %q, and a plugin looks at that too", result.Result), hook.ToolAfter, call)
	return err
}

func (s *show) blockedTool(ctx context.Context) error {
	_, err := s.fire(ctx, "The model wants to delete your files: the guard answers in the tool's place", hook.ToolBefore,
		object{"tool": "shell", "call_id": "2", "arguments": object{"cmd": "rm -rf /"}})
	return err
}

func (s *show) answer(ctx context.Context) error {
	out, err := s.fire(ctx, "The model answers: what looks like a secret does not reach the screen", hook.ModelReply,
		object{"text": "There are 6 words. Your key is sk-demo-0123456789abcdef.", "tool_calls": []any{}})
	if err != nil {
		return err
	}
	var reply struct{ Text string }
	if err := json.Unmarshal(out.Payload, &reply); err != nil {
		return err
	}
	_, err = s.fire(ctx, "The answer is signed, by a plugin that has watched the whole turn", hook.TurnFinal, object{"text": reply.Text})
	return err
}
