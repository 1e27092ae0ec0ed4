package model

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// openaiModel implements OpenAI's Chat Completions API, which compatible servers have in common.
type openaiModel struct {
	name     string
	official bool
}

func newOpenAI(at endpoint, name string) provider {
	return &openaiModel{name: name, official: at.official}
}

func (m *openaiModel) path() string { return "/chat/completions" }

func (m *openaiModel) sign(h http.Header, key config.Secret) {
	if !key.Empty() {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
}

// openaiChunk is one event of the stream: a part of the reply.
type openaiChunk struct {
	Choices []struct {
		Delta struct {
			Content, Refusal looseText
			ToolCalls        []openaiCallDelta `json:"tool_calls"`
		}
		FinishReason looseText `json:"finish_reason"`
	}
	Usage struct {
		Prompt     looseInt `json:"prompt_tokens"`
		Completion looseInt `json:"completion_tokens"`
	}
	Error json.RawMessage
}

type openaiCallDelta struct {
	Index    looseInt
	ID       looseText
	Function struct{ Name, Arguments looseText }
}

// addEvent decodes one event of the stream, and adds it to the reply. The end of the reply is not
// the last event: the usage follows.
func (m *openaiModel) addEvent(e event, r *reply) error {
	var c openaiChunk
	if err := decode(e.data, &c); err != nil {
		return err
	}
	if !rawjson.Missing(c.Error) {
		return &answeredError{body: e.data}
	}
	if c.Usage.Prompt > 0 || c.Usage.Completion > 0 {
		r.usage = Usage{Input: int(c.Usage.Prompt), Output: int(c.Usage.Completion)}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	r.addText(string(choice.Delta.Content))
	r.addText(string(choice.Delta.Refusal))
	for _, d := range choice.Delta.ToolCalls {
		if err := d.addTo(r); err != nil {
			return err
		}
	}
	if choice.FinishReason != "" {
		r.end(openaiStop(choice.FinishReason))
	}
	return nil
}

func (d *openaiCallDelta) addTo(r *reply) error {
	call, err := r.call(int64(d.Index), string(d.ID))
	if err != nil {
		return err
	}
	if call.id == "" {
		call.id = string(d.ID)
	}
	r.named(call, string(d.Function.Name))
	call.arguments.WriteString(string(d.Function.Arguments))
	return nil
}

func openaiStop(why looseText) StopReason {
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

// openaiRequest is the body of a request.
type openaiRequest struct {
	Model         string          `json:"model"`
	Stream        bool            `json:"stream"`
	StreamOptions openaiOptions   `json:"stream_options"`
	MaxTokens     int             `json:"max_tokens,omitempty"`            // the name that all compatible servers know
	MaxCompletion int             `json:"max_completion_tokens,omitempty"` // the name that OpenAI's newer models require
	Tools         []openaiTool    `json:"tools,omitempty"`
	Messages      []openaiMessage `json:"messages"`
}

type openaiOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openaiTool struct {
	Type     string         `json:"type"` // function
	Function openaiFunction `json:"function"`
}

type openaiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openaiMessage struct {
	Role      Role         `json:"role"`
	Content   *string      `json:"content,omitempty"` // nil: an assistant that only calls tools
	ToolCalls []openaiCall `json:"tool_calls,omitempty"`
	Answers   string       `json:"tool_call_id,omitempty"`
}

type openaiCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"` // function
	Function openaiCalledFunc `json:"function"`
}

type openaiCalledFunc struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON within JSON
}

func (m *openaiModel) body(p *prepared) any {
	out := openaiRequest{Model: m.name, Stream: true, StreamOptions: openaiOptions{IncludeUsage: true}}
	if m.official {
		out.MaxCompletion = p.maxTokens
	} else {
		out.MaxTokens = p.maxTokens
	}
	for _, t := range p.tools {
		out.Tools = append(out.Tools, openaiTool{"function", openaiFunction(t)})
	}
	if p.system != "" {
		out.Messages = append(out.Messages, openaiMessage{Role: System, Content: &p.system})
	}
	for _, t := range p.turns {
		out.Messages = append(out.Messages, openaiMessages(t)...)
	}
	return out
}

func openaiMessages(t turn) []openaiMessage {
	if t.role == Assistant {
		return []openaiMessage{openaiAssistant(t)}
	}
	var out []openaiMessage
	for _, a := range t.answers {
		out = append(out, openaiMessage{Role: ToolRole, Content: &a.content, Answers: a.id})
	}
	for i := 0; i < len(t.texts); {
		role, first := t.texts[i].role, i
		for i < len(t.texts) && t.texts[i].role == role {
			i++
		}
		content := join(t.texts[first:i])
		out = append(out, openaiMessage{Role: role, Content: &content})
	}
	return out
}

func openaiAssistant(t turn) openaiMessage {
	m := openaiMessage{Role: Assistant}
	if len(t.texts) > 0 {
		content := join(t.texts)
		m.Content = &content
	}
	for _, c := range t.calls {
		m.ToolCalls = append(m.ToolCalls, openaiCall{c.ID, "function", openaiCalledFunc{c.Name, string(c.Arguments)}})
	}
	return m
}

func join(texts []text) string {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = t.content
	}
	return strings.Join(parts, "\n\n")
}

// decodeError decodes the value of "error": an object, or from some servers a text.
func (m *openaiModel) decodeError(body []byte) refusal {
	var outer struct{ Error json.RawMessage }
	var said struct {
		Message, Type string
		Code          any
	}
	if json.Unmarshal(body, &outer) != nil || outer.Error == nil {
		return refusal{message: string(body)} // the answer of a proxy
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

// openaiStatus returns the HTTP status for the code of an error in the stream, or 0 if it is
// unknown. With some servers the code is the status itself.
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
