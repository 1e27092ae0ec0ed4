package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// openaiModel speaks OpenAI's Chat Completions, which is what compatible servers
// have in common.
type openaiModel struct {
	name        string
	official    bool
	completions openai.ChatCompletionService
}

// newOpenAI does not use the SDK's client, which reads keys and headers from the
// environment.
func newOpenAI(at endpoint, name string) provider {
	opts := []option.RequestOption{
		option.WithBaseURL(at.base + "/"),
		option.WithHTTPClient(at.client),
		option.WithMaxRetries(0), // retry.go does that
		option.WithHeader("User-Agent", userAgent),
	}
	if !at.key.Empty() {
		opts = append(opts, option.WithAPIKey(at.key.Reveal()))
	}
	return &openaiModel{name: name, official: at.official, completions: openai.NewChatCompletionService(opts...)}
}

// try reads on after the end of the reply: the usage comes last.
func (m *openaiModel) try(ctx context.Context, p *prepared, r *reply, w *watch) error {
	stream := m.completions.NewStreaming(ctx, m.params(p), option.WithMiddleware(w.middleware))
	defer stream.Close()
	for stream.Next() {
		if err := hearOpenAI(stream.Current(), r); err != nil {
			return err
		}
	}
	return stream.Err()
}

func hearOpenAI(c openai.ChatCompletionChunk, r *reply) error {
	if c.Usage.PromptTokens > 0 || c.Usage.CompletionTokens > 0 {
		r.usage = Usage{Input: int(c.Usage.PromptTokens), Output: int(c.Usage.CompletionTokens)}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	r.say(choice.Delta.Content)
	r.say(choice.Delta.Refusal)
	for _, d := range choice.Delta.ToolCalls {
		call, err := r.call(d.Index, d.ID)
		if err != nil {
			return err
		}
		if call.id == "" {
			call.id = d.ID
		}
		r.named(call, d.Function.Name)
		call.arguments.WriteString(d.Function.Arguments)
	}
	if choice.FinishReason != "" {
		r.end(openaiStop(choice.FinishReason))
	}
	return nil
}

func openaiStop(why string) StopReason {
	switch why {
	case "tool_calls", "function_call":
		return StopTools
	case "length":
		return StopLength
	case "content_filter":
		return StopRefusal
	}
	return StopEnd
}

func (m *openaiModel) params(p *prepared) openai.ChatCompletionNewParams {
	out := openai.ChatCompletionNewParams{
		Model:         m.name,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	switch {
	case p.maxTokens == 0:
	case m.official:
		out.MaxCompletionTokens = openai.Int(int64(p.maxTokens))
	default: // the older name is the one that all compatible servers know
		out.MaxTokens = openai.Int(int64(p.maxTokens))
	}
	for _, t := range p.tools {
		out.Tools = append(out.Tools, openai.ChatCompletionFunctionTool(
			param.Override[shared.FunctionDefinitionParam](openaiFunction(t))))
	}
	if p.system != "" {
		out.Messages = append(out.Messages, openai.SystemMessage(p.system))
	}
	for _, t := range p.turns {
		out.Messages = append(out.Messages, openaiMessages(t)...)
	}
	return out
}

// openaiFunction is a tool. The SDK's own type has the schema in a map, which loses
// the order of the properties, and models take that for their importance.
func openaiFunction(t Tool) any {
	return struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.Parameters}
}

func openaiMessages(t turn) []openai.ChatCompletionMessageParamUnion {
	if t.role == Assistant {
		return []openai.ChatCompletionMessageParamUnion{openaiAssistant(t)}
	}
	var out []openai.ChatCompletionMessageParamUnion
	for _, a := range t.answers {
		out = append(out, openai.ToolMessage(a.content, a.id))
	}
	for i := 0; i < len(t.texts); {
		role, first := t.texts[i].role, i
		for i < len(t.texts) && t.texts[i].role == role {
			i++
		}
		content := join(t.texts[first:i])
		if role == System {
			out = append(out, openai.SystemMessage(content))
		} else {
			out = append(out, openai.UserMessage(content))
		}
	}
	return out
}

func openaiAssistant(t turn) openai.ChatCompletionMessageParamUnion {
	var m openai.ChatCompletionAssistantMessageParam
	if len(t.texts) > 0 {
		m.Content.OfString = openai.String(join(t.texts))
	}
	for _, c := range t.calls {
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.Name, Arguments: string(c.Arguments),
				},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

func join(texts []text) string {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = t.content
	}
	return strings.Join(parts, "\n\n")
}

func (m *openaiModel) event(err error) ([]byte, bool) {
	var e *ssestream.StreamError
	if errors.As(err, &e) {
		return e.Event.Data, true
	}
	return nil, false
}

// read takes what is under "error": an object, or with some servers a text.
func (m *openaiModel) read(body []byte) refusal {
	var outer struct{ Error json.RawMessage }
	var said struct {
		Message, Type string
		Code          any
	}
	if json.Unmarshal(body, &outer) != nil || outer.Error == nil {
		return refusal{message: string(body)} // a proxy on the way
	}
	if json.Unmarshal(outer.Error, &said) != nil {
		return refusal{message: strings.Trim(string(outer.Error), `"`)}
	}
	r := refusal{code: said.Type, message: said.Message}
	switch code := said.Code.(type) {
	case string:
		r.code = code
	case float64:
		r.code = strconv.Itoa(int(code))
	}
	r.status = openaiStatus(r.code)
	return r
}

// openaiStatus is the status of an error that came in mid-stream: with some servers
// the code is the one that the response should have had. 0: unknown.
func openaiStatus(code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= http.StatusBadRequest && n < 600 {
		return n
	}
	switch code {
	case "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "server_error":
		return http.StatusInternalServerError
	case "invalid_api_key":
		return http.StatusUnauthorized
	case "invalid_request_error":
		return http.StatusBadRequest
	}
	return 0
}
