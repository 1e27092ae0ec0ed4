package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// An encoder writes the format of one provider. Each method returns server-sent events.
type encoder interface {
	begin(Reply) string
	text(index int, words []string) string
	tool(index int, t Tool) string
	end(Reply) string
	problem(kind string) string // an error in the stream
	refusal(kind string) string // the body of an HTTP error
}

// play streams the reply, and sends each part at once.
func (s *Server) play(w http.ResponseWriter, r *http.Request, enc encoder, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	setHeader(w, reply)
	out := func(events string) {
		_, _ = io.WriteString(w, events) // the client may have disconnected
		_ = http.NewResponseController(w).Flush()
	}
	out(enc.begin(reply))
	index := 0
	if reply.Text != "" {
		out(enc.text(index, strings.SplitAfter(reply.Text, " ")))
		index++
	}
	for _, t := range reply.Tools {
		out(enc.tool(index, t))
		index++
	}
	if !s.misbehave(r, enc, reply, out) {
		out(enc.end(reply))
	}
}

// misbehave does what the reply says instead of a proper end. It reports whether it did anything.
func (s *Server) misbehave(r *http.Request, enc encoder, reply Reply, out func(string)) bool {
	switch {
	case reply.Raw != "":
		out(reply.Raw)
	case reply.Error != "":
		out(enc.problem(reply.Error))
	case reply.Cut:
		panic(http.ErrAbortHandler) // closes the connection
	case reply.Hang:
		select {
		case <-r.Context().Done():
		case <-s.quit:
		}
	default:
		return false
	}
	return true
}

// object is a JSON object.
type object = map[string]any

// event returns one server-sent event; name may be "".
func event(name string, data object) string {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // it contains only strings and numbers
	}
	if name == "" {
		return fmt.Sprintf("data: %s\n\n", text)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, text)
}

// halves splits a text in two, as models stream arguments in parts.
func halves(s string) [2]string { return [2]string{s[:len(s)/2], s[len(s)/2:]} }

// anthropicEncoder writes Messages: blocks that start, grow and stop.
type anthropicEncoder struct{}

func (anthropicEncoder) begin(r Reply) string {
	return event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "test", "content": []any{},
		"stop_reason": nil, "usage": object{"input_tokens": r.Input, "output_tokens": 1},
	}}) + event("ping", object{"type": "ping"})
}

func (v anthropicEncoder) text(index int, words []string) string {
	deltas := make([]object, len(words))
	for i, word := range words {
		deltas[i] = object{"type": "text_delta", "text": word}
	}
	return v.block(index, object{"type": "text", "text": ""}, deltas...)
}

func (v anthropicEncoder) tool(index int, t Tool) string {
	var deltas []object
	for _, piece := range halves(t.Arguments) {
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
	}
	return v.block(index, object{"type": "tool_use", "id": t.ID, "name": t.Name, "input": object{}}, deltas...)
}

func (anthropicEncoder) block(index int, start object, deltas ...object) string {
	var b strings.Builder
	b.WriteString(event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start}))
	for _, d := range deltas {
		b.WriteString(event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d}))
	}
	b.WriteString(event("content_block_stop", object{"type": "content_block_stop", "index": index}))
	return b.String()
}

func (anthropicEncoder) end(r Reply) string {
	stop := r.Stop
	switch {
	case stop != "":
	case len(r.Tools) > 0:
		stop = "tool_use"
	default:
		stop = "end_turn"
	}
	return event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop},
		"usage": object{"output_tokens": r.Output}}) + event("message_stop", object{"type": "message_stop"})
}

func (v anthropicEncoder) problem(kind string) string {
	return "event: error\ndata: " + v.refusal(kind) + "\n\n"
}

func (anthropicEncoder) refusal(kind string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"the fake says %s"}}`, kind, kind)
}

// openaiEncoder writes Chat Completions: chunks of one message.
type openaiEncoder struct{}

func (openaiEncoder) chunk(delta object, finish any) string {
	return event("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test",
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (v openaiEncoder) begin(Reply) string {
	return ": a comment\n\n" + v.chunk(object{"role": "assistant", "content": ""}, nil)
}

func (v openaiEncoder) text(_ int, words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(v.chunk(object{"content": word}, nil))
	}
	return b.String()
}

func (v openaiEncoder) tool(index int, t Tool) string {
	call := func(c object) string {
		c["index"] = index
		return v.chunk(object{"tool_calls": []object{c}}, nil)
	}
	out := call(object{"id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": ""}})
	for _, piece := range halves(t.Arguments) {
		out += call(object{"function": object{"arguments": piece}})
	}
	return out
}

func (v openaiEncoder) end(r Reply) string {
	stop := r.Stop
	switch {
	case stop != "":
	case len(r.Tools) > 0:
		stop = "tool_calls"
	default:
		stop = "stop"
	}
	out := v.chunk(object{}, stop)
	if r.Input+r.Output > 0 {
		out += event("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []object{},
			"usage": object{"prompt_tokens": r.Input, "completion_tokens": r.Output, "total_tokens": r.Input + r.Output}})
	}
	return out + "data: [DONE]\n\n"
}

func (v openaiEncoder) problem(kind string) string { return "data: " + v.refusal(kind) + "\n\n" }

func (openaiEncoder) refusal(kind string) string {
	return fmt.Sprintf(`{"error":{"message":"the fake says %s","type":%q,"param":null,"code":%q}}`, kind, kind, kind)
}
