package model

import (
	"encoding/json"
	"net/http"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// anthropicVersion is the version of the API whose formats are below.
const anthropicVersion = "2023-06-01"

// anthropicModel implements Anthropic's Messages API.
type anthropicModel struct{ name string }

func newAnthropic(_ endpoint, name string) provider { return &anthropicModel{name: name} }

func (m *anthropicModel) path() string { return "/v1/messages" }

func (m *anthropicModel) sign(h http.Header, key config.Secret) {
	h.Set("Anthropic-Version", anthropicVersion)
	if !key.Empty() {
		h.Set("X-Api-Key", key.Reveal())
	}
}

// anthropicEvent is one event of the stream. Its kind is in its data, and should also be its name.
type anthropicEvent struct {
	Type    looseText
	Index   looseInt
	Message struct { // message_start
		Usage struct {
			Input       looseInt `json:"input_tokens"`
			CacheWrites looseInt `json:"cache_creation_input_tokens"`
			CacheReads  looseInt `json:"cache_read_input_tokens"`
		}
	}
	Block struct { // content_block_start
		Type, Text, ID, Name looseText
	} `json:"content_block"`
	Delta struct { // content_block_delta, message_delta
		Type, Text  looseText
		PartialJSON looseText `json:"partial_json"`
		StopReason  looseText `json:"stop_reason"`
	}
	Usage struct { // message_delta: the sum so far
		Output looseInt `json:"output_tokens"`
	}
}

// addEvent decodes one event of the stream, and adds it to the reply.
func (m *anthropicModel) addEvent(e event, r *reply) error {
	switch e.name {
	case "ping": // with any data
		return nil
	case "error":
		return &answeredError{body: e.data}
	}
	var v anthropicEvent
	if err := decode(e.data, &v); err != nil {
		return err
	}
	if v.Type == "error" {
		return &answeredError{body: e.data}
	}
	return v.addTo(r)
}

// addTo adds an event to the reply. It ignores blocks that are neither text nor a call of one of
// our tools, such as thinking.
func (v *anthropicEvent) addTo(r *reply) error {
	switch v.Type {
	case "message_start":
		u := v.Message.Usage
		r.usage.Input = int(u.Input + u.CacheWrites + u.CacheReads)
	case "content_block_start":
		return v.beginBlock(r)
	case "content_block_delta":
		v.addDelta(r)
	case "message_delta":
		r.usage.Output = int(v.Usage.Output)
		r.stop = anthropicStop(v.Delta.StopReason)
	case "message_stop":
		r.end(r.stop)
		r.closed = true
	}
	return nil
}

func (v *anthropicEvent) beginBlock(r *reply) error {
	switch v.Block.Type {
	case "text":
		r.paragraph()
		r.addText(string(v.Block.Text))
	case "tool_use":
		c, err := r.call(int64(v.Index), string(v.Block.ID))
		if err != nil {
			return err
		}
		r.named(c, string(v.Block.Name))
	}
	return nil
}

func (v *anthropicEvent) addDelta(r *reply) {
	switch v.Delta.Type {
	case "text_delta":
		r.addText(string(v.Delta.Text))
	case "input_json_delta":
		if len(r.calls) == 0 || r.calls[len(r.calls)-1].index != int64(v.Index) {
			return // of a tool that the server runs itself
		}
		r.calls[len(r.calls)-1].arguments.WriteString(string(v.Delta.PartialJSON))
	}
}

func anthropicStop(why looseText) StopReason {
	switch why {
	case "tool_use":
		return StopTools
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "refusal":
		return StopRefusal
	}
	return StopEnd
}

// anthropicRequest is the body of a request.
type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Stream    bool               `json:"stream"`
	System    []anthropicBlock   `json:"system,omitempty"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	Messages  []anthropicMessage `json:"messages"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

type anthropicMessage struct {
	Role    Role             `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is a part of a message: text, tool_use or tool_result.
type anthropicBlock struct {
	Type string `json:"type"`

	Text string `json:"text,omitempty"` // text

	ID    string          `json:"id,omitempty"` // tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	Answers string           `json:"tool_use_id,omitempty"` // tool_result
	Failed  bool             `json:"is_error,omitempty"`
	Content []anthropicBlock `json:"content,omitempty"`

	Cache *anthropicCache `json:"cache_control,omitempty"`
}

// anthropicCache marks the end of the part that the provider should cache.
type anthropicCache struct {
	Type string `json:"type"`
}

func ephemeral() *anthropicCache { return &anthropicCache{Type: "ephemeral"} }

func anthropicText(s string) anthropicBlock { return anthropicBlock{Type: "text", Text: s} }

func (m *anthropicModel) body(p *prepared) any {
	out := anthropicRequest{Model: m.name, MaxTokens: p.maxTokens, Stream: true}
	if p.system != "" {
		prompt := anthropicText(p.system)
		prompt.Cache = ephemeral()
		out.System = []anthropicBlock{prompt}
	}
	for _, t := range p.tools {
		out.Tools = append(out.Tools, anthropicTool{t.Name, t.Description, t.Parameters})
	}
	for _, t := range p.turns {
		out.Messages = append(out.Messages, anthropicTurn(t))
	}
	cacheUpTo(out.Messages[len(out.Messages)-1])
	return out
}

func anthropicTurn(t turn) anthropicMessage {
	m := anthropicMessage{Role: t.role}
	for _, a := range t.answers { // the provider requires them before any text
		m.Content = append(m.Content, anthropicBlock{Type: "tool_result", Answers: a.id, Failed: a.failed, Content: []anthropicBlock{anthropicText(a.content)}})
	}
	for _, x := range t.texts {
		m.Content = append(m.Content, anthropicText(x.content))
	}
	for _, c := range t.calls {
		m.Content = append(m.Content, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments})
	}
	return m
}

// cacheUpTo marks the end of the part that the next request of the turn repeats. The provider then
// reads it from its cache, for a tenth of the price.
func cacheUpTo(m anthropicMessage) {
	if n := len(m.Content); n > 0 {
		m.Content[n-1].Cache = ephemeral()
	}
}

// anthropicStatus maps the types of errors in the stream to HTTP statuses.
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

func (m *anthropicModel) decodeError(body []byte) refusal {
	var said struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Error.Message == "" {
		return refusal{message: string(body)} // the answer of a proxy
	}
	return refusal{status: anthropicStatus[said.Error.Type], code: said.Error.Type, message: said.Error.Message}
}
