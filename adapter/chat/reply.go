package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// errRefused is returned if the provider refuses to answer.
var errRefused = errors.New("the model's provider refused to answer this conversation")

// reply calls the model once and returns its reply after plugins changed it. If the reply is not
// held, r.said has its text until the text is in the log.
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

// setSaid sets the text that is shown and stored if the turn ends now. A reply that is held sets
// nothing: not all plugins have seen it.
func (r *run) setSaid(text string) {
	if !r.held {
		r.said = text
	}
}

// holdsReplies reports whether the replies of this session are held until plugins have seen them:
// post_llm_response runs before display (docs/protocols/scaffold.md).
func (r *run) holdsReplies(ctx context.Context) bool {
	host := r.agent.Host
	return host != nil && (host.Alters(ctx, hook.ModelReply) || host.Alters(ctx, hook.TurnFinal))
}

// withhold discards a reply that a plugin refused: it is not stored, and observers remove it.
func (r *run) withhold() {
	r.said, r.result.Text = "", ""
	r.emit(Event{Type: ModelReplied})
}

// ask calls the model. If the model finds the conversation too long, ask compacts it and calls
// again, once.
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

// request returns the request for the model: the conversation, compacted if it is too long, and the
// prompt after plugins changed it.
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
		// The tools stay: providers reject a conversation with tool calls in a request without
		// tools.
		request.System += "\n\n" + lastStep
	}
	return request, nil
}

// earlier returns the number of replies that are no longer in the transcript, if the log knows it.
func (r *run) earlier() int {
	if log, ok := r.turn.Log.(interface{ Earlier() int }); ok {
		return log.Earlier()
	}
	return 0
}

// offerTools asks which tools there are now, and remembers them for the tool calls of the reply.
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

// call calls the model. If the reply is interrupted, the part that arrived counts as said. If the
// call fails, nothing counts.
func (r *run) call(ctx context.Context, request *model.Request) (*model.Response, error) {
	r.heard.Reset()
	r.held, r.waiting = r.holdsReplies(ctx), 0
	response, err := r.agent.Model.Reply(ctx, request, r.receive)
	if err != nil && ctx.Err() != nil {
		r.setSaid(r.heard.String())
	}
	return response, err
}

// receive passes on the reply while it arrives. If the reply is held, it passes on only the length.
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
	text := fmt.Sprintf("attempt %d in %s", retry.Attempt, retry.After.Round(10*time.Millisecond))
	if retry.Err != nil {
		text = retry.Err.Error() + ": " + text
	}
	return text
}

// countTokens adds up tokens, and remembers the length of the conversation by the model's own
// count.
func (r *run) countTokens(u model.Usage, messages int) {
	r.result.Usage.Input += u.Input
	r.result.Usage.Output += u.Output
	r.counted, r.countAt = u, messages
}

// readCalls reads the tool calls of a reply after plugins changed them. If they are not a list of
// calls, the turn ends: the plugin may have meant to remove a call.
func readCalls(raw json.RawMessage) ([]model.ToolCall, error) {
	if rawjson.Missing(raw) {
		return nil, nil
	}
	var calls []model.ToolCall
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("%s: plugins changed tool_calls to something that is not a list of calls: %.80q", hook.ModelReply, raw)
	}
	return wellFormed(calls), nil
}
