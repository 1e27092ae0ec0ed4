package plugindev

import (
	"encoding/json"
	"os"
	"path/filepath"
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

func fieldValue(point hook.Point, field string) any {
	message := func(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }
	dir, _ := os.Getwd() // "" is good enough
	switch field {
	case "session_id":
		return "dev-session"
	case "working_dir", "project_root":
		return dir
	case "user_text", "user_message", "message":
		if strings.HasPrefix(string(point), "job.") {
			return "All is well.\n"
		}
		return "Hello, plugin!"
	case "dynamic_context":
		return "Today is a sample day."
	case "base_prompt":
		return "You are a helpful assistant."
	case "text":
		return "This is a sample answer."
	case "tool_calls", "tools":
		return []any{}
	case "tool":
		return "read_file"
	case "call_id":
		return "call_1"
	case "arguments":
		return map[string]any{"path": "README.md"}
	case "success":
		return true
	case "error":
		return ""
	case "duration":
		return 1.5
	case "transcript", "messages", "messages_being_compacted":
		return []any{message("user", "Hello!"), message("assistant", "Hello to you.")}
	case "messages_remaining":
		return []any{message("user", "What is next?")}
	case "strategy":
		return "summarize"
	case "trigger":
		return "manual"
	case "command":
		return "sample"
	case "args":
		return []string{"one", "two"}
	case "flags", "config":
		return map[string]any{}
	case "timestamp":
		return time.Now().UTC().Format(time.RFC3339)
	case "agent":
		return "sample-agent"
	case "schedule":
		return "daily"
	case "event":
		return "success"
	case "result":
		if strings.HasPrefix(string(point), "command.") {
			if point == hook.CommandAfter || point == hook.CommandDone {
				return map[string]any{"stdout": "done\n", "stderr": "", "exit_code": 0}
			}
			return nil
		}
		return "# Read me\n"
	}
	return filepath.Base(field)
}
