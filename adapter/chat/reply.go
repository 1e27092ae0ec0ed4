package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// errRefused is a provider that would not answer.
var errRefused = errors.New("the model's provider would not answer this conversation")

// reply asks the model once and returns what it said as plugins left it. Until it is in the log,
// r.said has it, unless it is held.
func (r *run) reply(ctx context.Context, last bool) (text string, calls []model.ToolCall, err error) {
	response, err := r.ask(ctx, last)
	if err != nil {
		return "", nil, err
	}
	r.setSaid(response.Text)
	fields, _, err := r.pass(ctx, hook.ModelReply, struct {
		Text      string           `json:"text"`
		ToolCalls []model.ToolCall `json:"tool_calls"`
		about
	}{response.Text, wellFormed(response.ToolCalls), r.about})
	if _, refused := errors.AsType[*refusal](err); refused {
		r.withhold()
	}
	if err != nil {
		return "", nil, err
	}
	if calls, err = readCalls(fields.Get("tool_calls")); err != nil {
		return "", nil, err
	}
	text = adapter.Plain(fields, "text")
	r.setSaid(text)
	return text, calls, nil
}

// setSaid notes what is shown and kept of a reply if the turn ends now. Of one that is held, that is
// nothing: not all plugins have seen it.
func (r *run) setSaid(text string) {
	if !r.held {
		r.said = text
	}
}

// holdsReplies tells whether the replies of this session are held until plugins have seen them.
// docs/protocols/scaffold.md: post_llm_response runs before display.
func (r *run) holdsReplies(ctx context.Context) bool {
	host := r.agent.Host
	return host != nil && (host.Alters(ctx, hook.ModelReply) || host.Alters(ctx, hook.TurnFinal))
}

// withhold takes back a reply that a plugin refused: it is neither kept nor left on the screen.
func (r *run) withhold() {
	r.said, r.result.Text = "", ""
	r.emit(Event{Type: ModelReplied})
}

// ask calls the model. A conversation that turns out to be too long is compacted, once, and asked
// again.
func (r *run) ask(ctx context.Context, last bool) (*model.Response, error) {
	request, err := r.request(ctx, last)
	if err != nil {
		return nil, err
	}
	response, err := r.call(ctx, request)
	if errors.Is(err, model.ErrTooLong) && ctx.Err() == nil {
		shorter, cerr := r.compactTooLong(ctx)
		if cerr != nil || !shorter {
			return nil, errors.Join(err, cerr)
		}
		request.Messages, request.Earlier = r.turn.Log.Messages(), r.earlier()
		response, err = r.call(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	r.countTokens(response.Usage, len(request.Messages))
	if response.Stop == model.StopRefusal && response.Text == "" && len(response.ToolCalls) == 0 {
		return nil, errRefused
	}
	return response, nil
}

// request is the conversation as it stands, compacted where it has grown too long, under the prompt
// as plugins left it.
func (r *run) request(ctx context.Context, last bool) (*model.Request, error) {
	tools := r.offerTools()
	if err := r.compactIfLong(ctx, tools); err != nil {
		return nil, err
	}
	p, err := r.sendPrompt(ctx)
	if err != nil {
		return nil, err
	}
	request := &model.Request{System: p.text(), Messages: r.turn.Log.Messages(), Tools: tools, Earlier: r.earlier()}
	if last {
		// The tools stay: providers refuse conversations with tool calls in them that name no
		// tools.
		request.System += "\n\n" + lastStep
	}
	return request, nil
}

// earlier is how many replies are no longer in the transcript, where the log knows.
func (r *run) earlier() int {
	if log, ok := r.turn.Log.(interface{ Earlier() int }); ok {
		return log.Earlier()
	}
	return 0
}

// offerTools asks anew which tools there are, and remembers them for the calls to come.
func (r *run) offerTools() []model.Tool {
	r.offered = nil
	if r.agent.Tools != nil {
		r.offered = r.agent.Tools()
	}
	tools := make([]model.Tool, len(r.offered))
	for i, t := range r.offered {
		tools[i] = model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return tools
}

// call asks the model. Of a reply that was interrupted, what was heard counts as said; of one that
// failed, nothing does.
func (r *run) call(ctx context.Context, request *model.Request) (*model.Response, error) {
	r.heard.Reset()
	r.held, r.waiting = r.holdsReplies(ctx), 0
	response, err := r.agent.Model.Reply(ctx, request, r.receive)
	if err != nil && ctx.Err() != nil {
		r.setSaid(r.heard.String())
	}
	return response, err
}

// receive passes on what the model says as it says it; of a reply that is held, only how long it has
// become.
func (r *run) receive(d model.Delta) {
	switch {
	case d.Retry != nil:
		r.heard.Reset()
		r.waiting = 0
		r.emit(Event{Type: Retrying, Text: retryText(d.Retry)})
	case d.Text != "":
		r.heard.WriteString(d.Text)
		if r.held {
			r.waiting += utf8.RuneCountInString(d.Text)
			r.emit(Event{Type: TextHeld, Held: r.waiting})
		} else {
			r.emit(Event{Type: TextDelta, Text: d.Text})
		}
	}
}

func retryText(retry *model.Retry) string {
	text := fmt.Sprintf("attempt %d in %s", retry.Attempt, retry.After)
	if retry.Err != nil {
		text = retry.Err.Error() + ": " + text
	}
	return text
}

// countTokens adds up tokens, and remembers how long the conversation was by the model's own count.
func (r *run) countTokens(u model.Usage, messages int) {
	r.result.Usage.Input += u.Input
	r.result.Usage.Output += u.Output
	r.counted, r.countAt = u, messages
}

// readCalls reads the tool calls of a reply as plugins left them. What is no list of calls ends the
// turn: a plugin that garbled the calls may have meant to take one of them away.
func readCalls(raw json.RawMessage) ([]model.ToolCall, error) {
	if adapter.Missing(raw) {
		return nil, nil
	}
	var calls []model.ToolCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("%s: plugins left tool_calls that are no list of calls: %w", hook.ModelReply, err)
	}
	return wellFormed(calls), nil
}
