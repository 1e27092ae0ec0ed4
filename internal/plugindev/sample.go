package plugindev

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// payload returns a sample payload of an event: every field that its host sends, with a usual
// value. about is what the hook is for, such as a pattern of commands; the subject of the event
// fits it.
func payload(point hook.Point, about string) json.RawMessage {
	spec, ok := point.Spec()
	if !ok {
		return json.RawMessage(`{}`)
	}
	var o rawjson.Object
	for _, field := range spec.Fields {
		if answered(spec, field) {
			continue
		}
		value := fieldValue(point, field)
		if _, isText := value.(string); isText && field == spec.Subject && about != "" {
			value = concrete(about)
		}
		raw, err := json.Marshal(value)
		if err == nil { // they are all plain values
			o = append(o, rawjson.Field{Name: field, Value: raw})
		}
	}
	return o.JSON()
}

// answered reports whether a field is one that plugins fill in. Hosts do not send such a field.
func answered(spec hook.Spec, field string) bool {
	switch field {
	case "inject", "retain", "summary":
		return true
	case "result", "success":
		return spec.Point == hook.ToolBefore || spec.Point == hook.ToolResolve
	}
	return false
}

// concrete returns a name that fits a pattern: "meta.sample" fits "meta.*".
func concrete(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, ",")
	name := strings.NewReplacer("**", "sample", "*", "sample", "?", "x").Replace(strings.TrimSpace(pattern))
	if strings.ContainsAny(name, `[]{}()|^$\+ `) {
		return "sample"
	}
	return name
}

// samples are the usual values of fields that have the same one at every point.
var samples = map[string]any{
	"session_id":               "dev-session",
	"user_text":                "Hello, plugin!",
	"user_message":             "Hello, plugin!",
	"message":                  "Hello, plugin!",
	"dynamic_context":          "Today is a sample day.",
	"base_prompt":              "You are a helpful assistant.",
	"text":                     "This is a sample answer.",
	"tool_calls":               []any{},
	"tools":                    []any{},
	"tool":                     "read_file",
	"call_id":                  "call_1",
	"arguments":                map[string]any{"path": "README.md"},
	"result":                   "# Read me\n",
	"success":                  true,
	"error":                    "",
	"duration":                 1.5,
	"transcript":               talk,
	"messages":                 talk,
	"messages_being_compacted": talk,
	"messages_remaining":       []any{message("user", "What is next?")},
	"strategy":                 "summarize",
	"trigger":                  "manual",
	"command":                  "sample",
	"args":                     []string{"one", "two"},
	"flags":                    map[string]any{},
	"config":                   map[string]any{},
	"agent":                    "sample-agent",
	"schedule":                 "daily",
	"event":                    "success",
}

var talk = []any{message("user", "Hello!"), message("assistant", "Hello to you.")}

func message(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }

func fieldValue(point hook.Point, field string) any {
	of, _, _ := strings.Cut(string(point), ".")
	switch {
	case field == "working_dir", field == "project_root":
		dir, _ := os.Getwd() // "" is good enough
		return dir
	case field == "timestamp":
		return time.Now().UTC().Format(time.RFC3339)
	case field == "message" && of == "job":
		return "All is well.\n"
	case field == "result" && (point == hook.CommandAfter || point == hook.CommandDone):
		return map[string]any{"stdout": "done\n", "stderr": "", "exit_code": 0}
	case field == "result" && of == "command":
		return nil
	}
	return samples[field]
}
