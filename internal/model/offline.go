package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// offline is a model without a network. It plays a script. Without one, or after its end, it echoes
// the user.
//
// It stores nothing between calls. The next reply of the script follows from the number of the
// assistant's messages in the conversation. So one script serves any number of sessions, and a
// session continues after a restart. A compaction removes messages; [Request.Earlier] says how many
// replies were among them.
type offline struct {
	info   Info
	script Script
	wait   func(ctx context.Context, d time.Duration) error
}

// Offline returns the offline model with a script. Without replies it echoes.
func Offline(script Script) Model { return newOffline(Config{Provider: ProviderOffline}, script) }

func openOffline(c Config) (Model, error) {
	if c.Script == "" {
		return newOffline(c, nil), nil
	}
	script, err := loadScript(c.Script)
	if err != nil {
		return nil, fmt.Errorf("model script: %w", err)
	}
	return newOffline(c, script), nil
}

func newOffline(c Config, script Script) *offline {
	name := c.Name
	switch {
	case name != "":
	case len(script) > 0:
		name = "script"
	default:
		name = "echo"
	}
	return &offline{
		info:   Info{Provider: ProviderOffline, Name: name, Window: limitsOf(c).window, Offline: true},
		script: script, wait: pause.For,
	}
}

func (m *offline) Info() Info { return m.info }

func (m *offline) Reply(ctx context.Context, req *Request, stream func(Delta)) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, m.cancelled(err)
	}
	if stream == nil {
		stream = func(Delta) {}
	}
	said := replies(req)
	next := Scripted{Text: m.echo(req, said)}
	if said < len(m.script) {
		next = m.script[said]
	}
	for _, word := range strings.SplitAfter(next.Text, " ") {
		if err := m.wait(ctx, next.Delay); err != nil {
			return nil, m.cancelled(err)
		}
		stream(Delta{Text: word})
	}
	return m.response(req, next, stream), nil
}

func (m *offline) response(req *Request, next Scripted, stream func(Delta)) *Response {
	out := &Response{Text: next.Text, Stop: StopEnd}
	ids := idsOf(req)
	for _, t := range next.Tools {
		stream(Delta{ToolCall: t.Name})
		out.ToolCalls = append(out.ToolCalls, ToolCall{ID: ids.fresh(""), Name: t.Name, Arguments: t.Arguments})
		out.Stop = StopTools
	}
	out.Usage = Usage{
		Input:  req.Estimate(),
		Output: Estimate([]Message{{Content: out.Text, ToolCalls: out.ToolCalls}}),
	}
	return out
}

func (m *offline) cancelled(err error) error {
	return &Error{Provider: ProviderOffline, Message: "cancelled: " + err.Error(), cause: err}
}

// replies counts the assistant's messages.
func replies(req *Request) int {
	n := max(req.Earlier, 0)
	for _, m := range req.Messages {
		if m.Role == Assistant {
			n++
		}
	}
	return n
}

// idsOf returns the ids of the calls in the conversation.
func idsOf(req *Request) callIDs {
	ids := make(callIDs)
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			ids[c.ID] = true
		}
	}
	return ids
}

// advice tells how to use a real model. `chat -p` prints an answer as it is, so each line must fit
// a terminal of 80 columns.
const advice = "No model is chosen. With a key in ANTHROPIC_API_KEY or OPENAI_API_KEY, run\n" +
	"`patchbay chat --model anthropic:NAME` (or `openai:NAME`), or write `provider`\n" +
	"and `name` under `[model]` in config.toml."

// echo returns the user's text. The first reply also explains why.
func (m *offline) echo(req *Request, said int) string {
	text := "(offline model) You said: " + lastUserText(req)
	if len(m.script) > 0 || said > 0 {
		return text
	}
	return text + "\n\n" + advice
}

func lastUserText(req *Request) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == User {
			return m.Content
		}
	}
	return "(nothing)"
}
