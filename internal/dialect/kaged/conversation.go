package kaged

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// conversations lists the params of hooks with messages that a plugin only reads. The messages of
// pre_compact are not in the list, because a compactor answers with messages.
var conversations = []string{"transcript", "messages_being_compacted", "messages_remaining"}

// withTexts replaces lists of messages by texts: docs/protocols/kaged.md, row K92. It does not
// modify params.
func withTexts(params hook.Object) hook.Object {
	params = slices.Clone(params)
	for i, f := range params {
		var messages []json.RawMessage
		if slices.Contains(conversations, f.Name) && !rawjson.Missing(f.Value) && json.Unmarshal(f.Value, &messages) == nil {
			params[i].Value = rawjson.String(conversation(messages))
		}
	}
	return params
}

// conversation returns messages as Markdown. It includes a value that is not a message as JSON.
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
		if content := asText(m.Content); content != "" && !rawjson.Missing(m.Content) {
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
