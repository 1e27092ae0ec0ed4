package modeltest

import (
	"fmt"
	"strings"
)

// responsesEncoder writes Responses: items that are added, grow and are done.
type responsesEncoder struct{}

func (responsesEncoder) begin(Reply) string {
	return event("response.created", object{"type": "response.created", "response": object{
		"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{},
	}})
}

func (v responsesEncoder) text(index int, words []string) string {
	text := strings.Join(words, "")
	item := object{"type": "message", "id": fmt.Sprintf("item_%d", index), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": text, "annotations": []any{}}}}
	begun := object{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}
	var deltas []object
	for _, word := range words {
		deltas = append(deltas, object{"type": "response.output_text.delta", "content_index": 0, "delta": word})
	}
	return v.item(index, begun, item, deltas...)
}

func (v responsesEncoder) tool(index int, t Tool) string {
	item := func(arguments string) object {
		return object{"type": "function_call", "id": fmt.Sprintf("item_%d", index), "call_id": t.ID, "name": t.Name, "arguments": arguments}
	}
	var deltas []object
	for _, piece := range halves(t.Arguments) {
		deltas = append(deltas, object{"type": "response.function_call_arguments.delta", "delta": piece})
	}
	return v.item(index, item(""), item(t.Arguments), deltas...)
}

func (responsesEncoder) item(index int, begun, done object, deltas ...object) string {
	var b strings.Builder
	b.WriteString(event("response.output_item.added", object{"type": "response.output_item.added", "output_index": index, "item": begun}))
	for _, d := range deltas {
		d["output_index"], d["item_id"] = index, done["id"]
		b.WriteString(event(fmt.Sprint(d["type"]), d))
	}
	b.WriteString(event("response.output_item.done", object{"type": "response.output_item.done", "output_index": index, "item": done}))
	return b.String()
}

func (responsesEncoder) end(r Reply) string {
	return event("response.completed", object{"type": "response.completed", "response": object{
		"id": "resp_1", "object": "response", "status": "completed", "output": []any{}, "usage": object{
			"input_tokens": r.Input, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": r.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": r.Input + r.Output,
		},
	}})
}

func (responsesEncoder) problem(kind string) string {
	return event("response.failed", object{"type": "response.failed", "response": object{
		"id": "resp_1", "status": "failed", "error": object{"code": kind, "message": "the fake says " + kind},
	}})
}

func (responsesEncoder) refusal(kind string) string { return openaiEncoder{}.refusal(kind) }
