package httpapi

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// operations yields every operation of the document.
func operations(doc *huma.OpenAPI) iter.Seq[*huma.Operation] {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range doc.Paths {
			for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}

// exampleBodies gives every request and every answer an example.
func exampleBodies(doc *huma.OpenAPI) {
	m := sampler{schemas: doc.Components.Schemas.Map(), usual: usualValues()}
	requests, answers, texts := requestExamples(), answerExamples(), textExamples()
	for op := range operations(doc) {
		id := strings.TrimPrefix(op.OperationID, "v1-")
		if op.RequestBody != nil {
			m.fill(op.RequestBody.Content, requests[id], "")
		}
		for status, r := range op.Responses {
			if status == "200" {
				m.fill(r.Content, answers[id], texts[id])
			}
			m.fill(r.Content, "", "")
		}
	}
}

// A sampler makes the examples of bodies from the examples of their fields.
type sampler struct {
	schemas map[string]*huma.Schema
	usual   map[string]string // as JSON, by SCHEMA.FIELD: used instead of the field's own example
}

// fill gives an example to the media types of a body that have none: the given JSON or text, or one
// that is made from the schema.
func (m sampler) fill(content map[string]*huma.MediaType, given, text string) {
	for kind, c := range content {
		isJSON := strings.HasSuffix(kind, "json")
		switch {
		case c.Example != nil:
		case isJSON && given != "":
			c.Example = json.RawMessage(given)
		case isJSON:
			c.Example = m.example(c.Schema, 0)
		case text != "":
			c.Example = text
		}
	}
}

// deepest limits the depth of examples: some schemas contain themselves.
const deepest = 6

// example makes a value of a schema. An object gets its required fields, or all fields if none is
// required.
func (m sampler) example(s *huma.Schema, depth int) any {
	name := ""
	if s.Ref != "" {
		name = refName(s)
		s = m.schemas[name]
	}
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.AnyOf) > 0:
		return m.example(s.AnyOf[0], depth)
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == huma.TypeArray && depth < deepest:
		return []any{m.example(s.Items, depth+1)}
	case s.Type == huma.TypeArray:
		return []any{}
	case s.Type == huma.TypeObject:
		return m.object(name, s, depth)
	}
	return nil
}

func (m sampler) object(schema string, s *huma.Schema, depth int) map[string]any {
	out := make(map[string]any)
	for name, p := range s.Properties {
		if s.Required != nil && !slices.Contains(s.Required, name) || depth >= deepest {
			continue
		}
		out[name] = m.example(p, depth+1)
		if usual, ok := m.usual[schema+"."+name]; ok {
			out[name] = json.RawMessage(usual)
		}
	}
	return out
}

// usualValues are the values of fields whose own examples show a failure, which would contradict
// the rest of the body.
func usualValues() map[string]string {
	return map[string]string{
		"Outcome.reason": `""`, "Outcome.suggest": `""`, "Step.error": `null`, "Plugin.error": `null`, "PluginDetail.error": `null`,
		"PluginDetail.denials": `[]`, "PluginDetail.problems": `[]`, "PluginDetail.warnings": `[]`,
		"MethodResult.error": `null`, "SourceItem.error": `null`, "ToolResult.error": `null`, "ToolUse.resolved_by": `null`, "TurnResult.error": `null`,
		"JobInfo.next_attempt": `null`, "JobInfo.running": `""`,
		"Knob.values": `null`, "Knob.labels": `null`, "Knob.max_length": `null`,
	}
}

// requestExamples are examples of requests, by operation. Each has an optional field that makes it
// clearer.
func requestExamples() map[string]string {
	return map[string]string{
		"change-config": `{"changes":[{"set":"priority","plugin":"words","value":500}]}`,
		"fire":          `{"point":"turn.input","data":{"message":"hello"}}`,
		"call-method":   `{"method":"notes.count","params":{}}`,
	}
}

// answerExamples are the answers, by operation, that differ from others of the same schema.
func answerExamples() map[string]string {
	return map[string]string{
		"disable-feature": `{"name":"plugins","description":"Python plugins in sessions over HTTP","stage":"experimental","default":false,"enabled":false}`,
		"session-delete":  `{"deleted":"ses_01jz"}`,
		"session-transcript": `[{"seq":7,"time":"2026-11-16T06:00:19Z","turn":"turn_01jz","message":{"role":"user","content":"hello"}},` +
			`{"seq":8,"time":"2026-11-16T06:00:21Z","turn":"turn_01jz","message":{"role":"assistant","content":"Hello."}}]`,
		"cancel-run": `{"id":"disk-report/daily/20261116T060000.000Z","agent":"disk-report","schedule":"daily","tick":"2026-11-16T06:00:00Z","manual":false,` +
			`"status":"cancelled","reason":"cancelled by process 22188 on desk","attempts":[{"number":1,"began":"2026-11-16T06:00:00.1Z","ended":"2026-11-16T06:00:12Z",` +
			`"result":"cancelled","exit_code":null}],"max_attempts":3,"began":"2026-11-16T06:00:00.1Z","ended":"2026-11-16T06:00:12Z","owner":"process 22188 on desk"}`,
		"openapi": `{"openapi":"3.1.0","info":{"title":"Patchbay","version":"0.1.0"},"paths":{}}`,
	}
}

// textExamples are the answers that are not JSON, by operation.
func textExamples() map[string]string {
	const turn = `"session_id":"ses_01jz","turn":"turn_01jz","time":"2026-11-16T06:00:19Z"`
	return map[string]string{
		"session-message": "event: turn.started\ndata: {\"type\":\"turn.started\"," + turn + ",\"text\":\"what is this?\"}\n\n" +
			"event: text\ndata: {\"type\":\"text\"," + turn + ",\"text\":\"Let \"}\n\n",
		"events":      "retry: 2000\n\nid: 58\nevent: session.deleted\ndata: {\"id\":\"ses_01jz\"}\n\n",
		"plugin-logs": "event: line\ndata: {\"time\":\"2026-11-16T06:00:19Z\",\"level\":\"stderr\",\"text\":\"out of ink\"}\n\n",
		"run-output":  "event: line\ndata: {\"attempt\":1,\"time\":\"2026-11-16T06:00:01Z\",\"stream\":\"stdout\",\"text\":\"/ is 71% full\"}\n\n",
		"metrics":     "# HELP patchbay_events_dropped_total Events that the journal could not store.\n# TYPE patchbay_events_dropped_total counter\npatchbay_events_dropped_total 0\n",
	}
}
