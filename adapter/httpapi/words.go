package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeAll fills in the descriptions that no tag has.
func describeAll(doc *huma.OpenAPI) {
	describeBodies(doc)
	texts, parameters := operationWords(), parameterWords()
	for op := range operations(doc) {
		if op.Description == "" {
			op.Description = texts[strings.TrimPrefix(op.OperationID, "v1-")]
		}
		for _, p := range op.Parameters {
			if p.Example == nil && p.Schema != nil && len(p.Schema.Examples) == 0 {
				p.Example = json.RawMessage(parameters[p.Name])
			}
		}
	}
	exampleBodies(doc)
}

func parameterWords() map[string]string {
	return map[string]string{"name": `"words"`, "id": `"ses_01jz"`, "agent": `"disk-report"`, "schedule": `"daily"`, "time": `"20261116T060000.000Z"`,
		"limit": `50`, "after": `"cnVuczoxIDU"`, "session": `"ses_01jz"`, "Last-Event-ID": `"57"`}
}

func operationWords() map[string]string {
	return map[string]string{
		"delete-source":      "Removes the file. Sessions that use the plugin continue without it.",
		"get-source":         "With its source text. A plugin that does not load is shown too: its metadata is an object with the error.",
		"reload-source":      "Reads the file again. Running turns continue with the code that they began with.",
		"validate-source":    "Runs the code in a sandbox that contains only the interpreter. Without a sandbox, the code is only parsed.",
		"get-feature":        "Whether a part of the daemon is on.",
		"list-features":      "Every flag, and whether it is on.",
		"enable-feature":     "Takes effect immediately. A restart of the daemon does not undo it.",
		"disable-feature":    "Takes effect immediately. A restart of the daemon does not undo it.",
		"metrics":            "In the text format of Prometheus.",
		"openapi":            "This document.",
		"session-delete":     "Plugins get session.end, and a running turn is interrupted. Its transcript and its events are deleted too.",
		"session-get":        "One conversation, without its transcript.",
		"session-update":     "Fields that are absent are not changed.",
		"session-interrupt":  "The turn ends as soon as its tools allow, and is stored as interrupted.",
		"doctor":             "With how to fix each. Mine plugins are asked for their health, for at most five seconds in all.",
		"list-plugins":       "Plugins that do not work are listed too, with the reason.",
		"list-tools":         "With the JSON Schema of their parameters. The agent's built-in tools are not listed.",
		"get-run":            "With its attempts.",
		"session-transcript": "Every entry, the oldest first: messages, compactions, and how turns ended.",
	}
}
