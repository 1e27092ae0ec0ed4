package chat_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// plugins is a host with one plugin: a function that signs every answer. A program uses a
// *patchbay.Host instead.
type plugins struct{ bus hook.Bus }

func (p *plugins) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return p.bus.Fire(ctx, point, raw)
}

func (p *plugins) Alters(ctx context.Context, point hook.Point) bool { return p.bus.Alters(ctx, point) }

// In this turn the model calls a tool, reads its result and answers, and a plugin signs the answer.
func ExampleAgent_Run() {
	sign := hook.Hook{Plugin: "signature", Point: hook.TurnFinal, Call: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
		text, _ := ev.Payload.String("text")
		signed, err := json.Marshal(text + " -- your agent")
		return hook.Reply{Set: hook.Object{{Name: "text", Value: signed}}}, err
	}}
	var host plugins
	if err := host.bus.Set([]hook.Hook{sign}); err != nil {
		fmt.Println(err)
		return
	}
	agent := chat.Agent{
		Host: &host,
		Model: model.Offline(model.Script{
			{Text: "Let me count.", Tools: []model.ScriptedCall{{Name: "count", Arguments: json.RawMessage(`{"text":"to be or not to be"}`)}}},
			{Text: "There are 18 letters."},
		}),
		Tools: func() []chat.Tool {
			return []chat.Tool{{Name: "count", Run: func(_ context.Context, c chat.Call) (chat.ToolResult, error) {
				var arguments struct{ Text string }
				if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
					return chat.ToolResult{}, err
				}
				return chat.ToolResult{Output: fmt.Sprint(len(arguments.Text)), Success: true}, nil
			}}}
		},
	}
	log := chat.NewMemoryLog()
	result, err := agent.Run(context.Background(), chat.Turn{
		Session: session.Session{ID: "ses_example", WorkingDir: "/project"},
		Log:     log,
		Text:    "How long is the question?",
		Observe: func(e chat.Event) {
			if e.Type == chat.ToolFinished {
				fmt.Println("tool:", e.Tool.Name, e.Tool.Result)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, "-", result.Text)
	fmt.Println(len(log.Messages()), "messages")
	// Output:
	// tool: count 18
	// done - There are 18 letters. -- your agent
	// 4 messages
}
