package httpapi

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
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
	m := sampler{schemas: doc.Components.Schemas.Map(), usual: usualValues(), problems: problemExamples()}
	requests, answers, texts := requestExamples(), answerExamples(), textExamples()
	for op := range operations(doc) {
		id := strings.TrimPrefix(op.OperationID, "v1-")
		if op.RequestBody != nil {
			m.fill(op.RequestBody.Content, requests[id], "")
		}
		for status, r := range op.Responses {
			if status == "200" {
				m.fill(r.Content, answers[id], texts[id])
			} else if detail := m.problem(op, status); detail != "" && isProblem(r) {
				m.fill(r.Content, `{"detail":`+strconv.Quote(detail)+`}`, "")
			}
			m.fill(r.Content, "", "")
		}
	}
}

// isProblem reports whether an answer is an error. Most answers with another status than 200 are
// errors. An answer of health with 503 is not: it has the same form as with 200.
func isProblem(r *huma.Response) bool {
	c := r.Content["application/json"]
	return c != nil && c.Schema != nil && c.Schema.Ref == schemaPrefix+"Problem"
}

// A sampler makes the examples of bodies from the examples of their fields.
type sampler struct {
	schemas map[string]*huma.Schema
	usual   map[string]string // as JSON, by SCHEMA.FIELD: used instead of the field's own example

	problems map[string]string // details, by STATUS, by STATUS and tag, and by STATUS and operation
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

// problem returns an example of the error that an operation answers with a status, or "".
func (m sampler) problem(op *huma.Operation, status string) (detail string) {
	of := func(what string) string { return m.problems[status+" "+what] }
	return cmp.Or(of(strings.TrimPrefix(op.OperationID, "v1-")), of(op.Tags[0]), m.problems[status])
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

// problemExamples are the details of errors. For an operation or a tag they are in place of those
// for the status alone.
func problemExamples() map[string]string {
	const (
		cursor = "Not a cursor of the list of runs: \"x\". Send the `next` of an answer unchanged, or leave `after` out."
		code   = detailInvalidCode + "SyntaxError: invalid syntax (line 3, column 11)"
		config = "/home/mira/.config/patchbay/config.toml: "
	)
	return map[string]string{
		"400":                 "Invalid request: body: unexpected end of JSON input",
		"400 save-source":     code,
		"400 validate-source": code,
		"400 reload-source":   code,
		"400 session-create":  "Unknown plugins: gard",
		"400 session-update":  "Unknown plugins: gard",
		"400 session-list":    "after: not a cursor of this list: leave it out to begin with the newest session",
		"400 list-runs":       cursor,
		"400 list-traces":     strings.Replace(cursor, "runs", "traces", 1),
		"400 list-turns":      strings.Replace(cursor, "runs", "turns", 1),
		"400 call-tool":       "Tool plugin_words_count does not take these arguments: text: is required",
		"400 fire":            `Unknown point: "turn.inptu"`,
		"401":                 detailNoToken,
		"403":                 `Host not allowed: "pat.example.org". Use the address that the server listens on.`,
		"404":                 detailNoPlugin + "nope",
		"404 features":        "Feature not found: nope",
		"404 sessions":        detailNoSession,
		"404 jobs":            "Job not found",
		"404 hooks":           `Agent not found: "nope"`,
		"404 call-tool":       "Tool not found: nope",
		"404 call-method":     "Method not found: notes.nope; it has notes.count",
		"404 set-knob":        "Knob not found: nope",
		"404 get-trace":       "Trace not found: it may be too old to be stored",
		"404 get-recording":   "Turn not found: no plugin was called in it, or it is too old to be stored",
		"408":                 "The body did not arrive within 10s.",
		"409":                 ErrNotNow.Error() + ": plugin notes: this action does not fit its state: it is disabled",
		"409 sessions":        "session ses_01jz: a turn is running (process 28354 on desk): wait for it to end",
		"409 run-job":         ErrJobBusy.Error(),
		"409 cancel-run":      ErrRunOver.Error(),
		"409 hooks":           ErrOtherVersion.Error(),
		"409 configuration":   "configuration file changed: " + config + "the file has changed since the preview: preview the change again",
		"409 set-knob":        config + "the file was changed meanwhile: nothing was written, try again",
		"413":                 "Request body is too large: at most 1048576 bytes.",
		"415":                 "Content-Type must be application/json.",
		"422":                 "Invalid request: body.plugin: unexpected property",
		"500":                 detailInternal,
		"501":                 ErrOtherProtocol.Error(),
		"502":                 "plugin notes (kaged) notes.add: the process ended: exit code 3",
		"503":                 "patchbay is shutting down",
		"503 python plugins":  detailFeatureOff,
		"503 check-source":    "The request was cancelled.",
		"503 configuration":   "The daemon cannot work with the change, which was undone: context deadline exceeded",
		"504":                 "plugin notes (kaged) notes.add: timed out after 60s",
		"507":                 "data directory /home/mira/.local/share/patchbay: the disk refuses to write: no space left on device: free some room on that disk",
	}
}
