package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// geminiEncoder writes GenerateContent: each event is a part of the candidate.
type geminiEncoder struct{}

func (geminiEncoder) piece(part object, rest object) string {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
	for name, value := range rest {
		candidate[name] = value
	}
	return event("", object{"candidates": []object{candidate}, "modelVersion": "test"})
}

func (geminiEncoder) begin(Reply) string { return "" }

func (v geminiEncoder) text(_ int, words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(v.piece(object{"text": word}, nil))
	}
	return b.String()
}

func (v geminiEncoder) tool(_ int, t Tool) string {
	return v.piece(object{"functionCall": object{"id": t.ID, "name": t.Name, "args": json.RawMessage(t.Arguments)}}, nil)
}

func (geminiEncoder) end(r Reply) string {
	stop := r.Stop
	if stop == "" {
		stop = "STOP" // the same for an answer and for calls
	}
	return event("", object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{{"text": ""}}}, "finishReason": stop}},
		"usageMetadata": object{"promptTokenCount": r.Input, "candidatesTokenCount": r.Output, "totalTokenCount": r.Input + r.Output}})
}

func (v geminiEncoder) problem(kind string) string { return "data: " + v.refusal(kind) + "\n\n" }

func (geminiEncoder) refusal(kind string) string {
	return fmt.Sprintf(`{"error":{"code":500,"message":"the fake says %s","status":%q}}`, kind, kind)
}
