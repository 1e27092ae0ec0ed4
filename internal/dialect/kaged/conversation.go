package kaged

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// withTexts passes the event's fields on as without does, but each field that lists names becomes a
// text, followed by the messages themselves under the name that it maps to: plugins of kaged expect
// texts, and messages to retain must be messages. See docs/protocols/kaged.md, rows K89 and K91.
func withTexts(lists map[string]string, answers ...string) func(hook.Object) hook.Object {
	rest := without(slices.AppendSeq(answers, maps.Values(lists))...)
	return func(payload hook.Object) hook.Object {
		var params hook.Object
		for _, f := range rest(payload) {
			var messages []json.RawMessage
			list := lists[f.Name]
			if list == "" || isNull(f.Value) || json.Unmarshal(f.Value, &messages) != nil {
				params = append(params, f)
				continue
			}
			params = append(params, field(f.Name, rawjson.String(conversation(messages))), field(list, f.Value))
		}
		return params
	}
}

// conversation returns messages as Markdown, as docs/protocols/kaged.md shows it. A value that is
// not a message is in it as JSON.
func conversation(messages []json.RawMessage) string {
	var said []string
	for _, raw := range messages {
		var m struct {
			Role, Name string
			Content    json.RawMessage
			ToolCalls  []struct {
				Name      string
				Arguments json.RawMessage
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || messageFault(raw) != "" {
			said = append(said, string(raw))
			continue
		}
		if content := asText(m.Content); content != "" && !isNull(m.Content) {
			said = append(said, fmt.Sprintf("**%s:** %s", speaker(m.Role, m.Name), content))
		}
		for _, c := range m.ToolCalls {
			said = append(said, fmt.Sprintf("**Agent calls %s:** %s", c.Name, c.Arguments))
		}
	}
	return strings.Join(said, "\n\n")
}

// speaker returns whose message it is, in kaged's words. A tool's result has the tool's name.
func speaker(role, name string) string {
	switch role {
	case "user":
		return "Operator"
	case "assistant":
		return "Agent"
	case "system":
		return "System"
	}
	return strings.TrimSpace("Tool " + name)
}
