package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropicModel speaks Anthropic's Messages.
type anthropicModel struct {
	name     string
	messages anthropic.MessageService
}

// newAnthropic does not use the SDK's client, which reads keys, profiles and headers
// from the environment and from files of its own.
func newAnthropic(at endpoint, name string) provider {
	opts := []option.RequestOption{
		option.WithBaseURL(at.base + "/"),
		option.WithHTTPClient(at.client),
		option.WithMaxRetries(0), // retry.go does that
		option.WithHeader("User-Agent", userAgent),
	}
	if !at.key.Empty() {
		opts = append(opts, option.WithAPIKey(at.key.Reveal()))
	}
	return &anthropicModel{name: name, messages: anthropic.NewMessageService(opts...)}
}

// userAgent is how we call ourselves to providers.
const userAgent = "patchbay"

func (m *anthropicModel) try(ctx context.Context, p *prepared, r *reply, w *watch) error {
	stream := m.messages.NewStreaming(ctx, m.params(p), option.WithMiddleware(w.middleware))
	defer stream.Close()
	for !r.ended && stream.Next() {
		if err := hearAnthropic(stream.Current(), r); err != nil {
			return err
		}
	}
	return stream.Err()
}

// hearAnthropic takes one event of the stream. Blocks that are neither text nor a
// call of one of our tools (thinking, above all) are not for anybody to see.
func hearAnthropic(e anthropic.MessageStreamEventUnion, r *reply) error {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		r.usage.Input = int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens)
	case "content_block_start":
		return beginBlock(e, r)
	case "content_block_delta":
		return growBlock(e, r)
	case "message_delta":
		r.usage.Output = int(e.Usage.OutputTokens)
		r.stop = anthropicStop(e.Delta.StopReason)
	case "message_stop":
		r.end(r.stop)
	}
	return nil
}

func beginBlock(e anthropic.MessageStreamEventUnion, r *reply) error {
	switch e.ContentBlock.Type {
	case "text":
		r.paragraph()
		r.say(e.ContentBlock.Text)
	case "tool_use":
		c, err := r.call(e.Index, e.ContentBlock.ID)
		if err != nil {
			return err
		}
		r.named(c, e.ContentBlock.Name)
	}
	return nil
}

func growBlock(e anthropic.MessageStreamEventUnion, r *reply) error {
	switch e.Delta.Type {
	case "text_delta":
		r.say(e.Delta.Text)
	case "input_json_delta":
		if len(r.calls) == 0 || r.calls[len(r.calls)-1].index != e.Index {
			return nil // of a tool that the server runs itself
		}
		r.calls[len(r.calls)-1].arguments.WriteString(e.Delta.PartialJSON)
	}
	return nil
}

func anthropicStop(why anthropic.StopReason) StopReason {
	switch why {
	case anthropic.StopReasonToolUse:
		return StopTools
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return StopLength
	case anthropic.StopReasonRefusal:
		return StopRefusal
	}
	return StopEnd
}

func (m *anthropicModel) params(p *prepared) anthropic.MessageNewParams {
	out := anthropic.MessageNewParams{Model: m.name, MaxTokens: int64(p.maxTokens)}
	if p.system != "" {
		out.System = []anthropic.TextBlockParam{{Text: p.system, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	for _, t := range p.tools {
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](t.Parameters)}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	for _, t := range p.turns {
		out.Messages = append(out.Messages, anthropicMessage(t))
	}
	cacheUpTo(out.Messages[len(out.Messages)-1])
	return out
}

func anthropicMessage(t turn) anthropic.MessageParam {
	m := anthropic.MessageParam{Role: anthropic.MessageParamRole(t.role)}
	for _, a := range t.answers { // the provider wants them before any text
		m.Content = append(m.Content, anthropic.NewToolResultBlock(a.id, a.content, a.failed))
	}
	for _, x := range t.texts {
		m.Content = append(m.Content, anthropic.NewTextBlock(x.content))
	}
	for _, c := range t.calls {
		m.Content = append(m.Content, anthropic.NewToolUseBlock(c.ID, c.Arguments, c.Name))
	}
	return m
}

// cacheUpTo marks the end of what the next request of the turn will repeat, so that
// the provider reads it from its cache, for a tenth of the price.
func cacheUpTo(m anthropic.MessageParam) {
	if len(m.Content) == 0 {
		return
	}
	if c := m.Content[len(m.Content)-1].GetCacheControl(); c != nil {
		*c = anthropic.NewCacheControlEphemeralParam()
	}
}

// anthropicStatus are the statuses of errors that come in mid-stream, by their type.
var anthropicStatus = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      statusOverloaded,
}

func (m *anthropicModel) event(err error) ([]byte, bool) {
	var e *anthropic.Error // it holds the request: nothing but its body may go on
	if errors.As(err, &e) {
		return []byte(e.RawJSON()), true
	}
	return nil, false
}

func (m *anthropicModel) read(body []byte) refusal {
	var said struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Error.Message == "" {
		return refusal{message: string(body)} // a proxy on the way
	}
	return refusal{status: anthropicStatus[said.Error.Type], code: said.Error.Type, message: said.Error.Message}
}
