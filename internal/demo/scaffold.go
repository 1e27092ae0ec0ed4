package demo

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// reply is the answer of a scaffold hook or tool.
type reply map[string]any

// scaffoldPlugin answers the requests that every scaffold plugin gets, and calls handle for the
// others.
func scaffoldPlugin(manifest reply, handle func(method string, params map[string]any) reply) func([]string, io.Reader, io.Writer) error {
	return serving(func(method string, raw json.RawMessage) (any, error) {
		switch method {
		case "initialize":
			return manifest, nil
		case "shutdown":
			return reply{"ok": true}, nil
		}
		var params map[string]any
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, err
		}
		if answer := handle(method, params); answer != nil {
			return answer, nil
		}
		return nil, unknown(method)
	})
}

func str(params map[string]any, name string) string {
	s, _ := params[name].(string)
	return s
}

// tidy removes surplus blanks from the user's message, and makes "please" of "pls" at its
// beginning.
var tidy = sample{file: "patchbay-demo-tidy", folder: scaffoldFolder, run: scaffoldPlugin(
	reply{"name": "tidy", "version": "1.0.0", "description": "Tidies what you type", "hooks": []string{"post_user_input"}, "priority": 100},
	func(method string, p map[string]any) reply {
		text := strings.Join(strings.Fields(str(p, "message")), " ")
		if rest, ok := strings.CutPrefix(text, "pls "); ok {
			text = "please " + rest
		}
		return reply{"action": "continue", "message": text}
	})}

// almanac adds context about the project to the prompt.
var almanac = sample{file: "patchbay-demo-almanac", folder: scaffoldFolder, run: scaffoldPlugin(
	reply{"name": "almanac", "version": "1.0.0", "description": "Adds project context to prompts", "hooks": []string{"context_enhance"}, "priority": 600},
	func(method string, p map[string]any) reply {
		return reply{"dynamic_context": str(p, "dynamic_context") + "Branch: main\nOpen files: notes.md\n"}
	})}

// guard answers instead of a tool that would do harm.
var guard = sample{file: "patchbay-demo-guard", folder: scaffoldFolder, run: scaffoldPlugin(
	reply{"name": "guard", "version": "1.0.0", "description": "Blocks dangerous shell commands", "hooks": []string{"pre_tool_execute"}, "priority": 100},
	func(method string, p map[string]any) reply {
		if str(p, "tool_name") == "shell" && strings.Contains(str(p, "arguments"), "rm -rf") {
			return reply{"action": "stop", "result": `{"error":"blocked by guard: this deletes files"}`}
		}
		return reply{"action": "continue"}
	})}

// words has a tool, and a hook that changes results.
var words = sample{file: "patchbay-demo-words", folder: scaffoldFolder, run: scaffoldPlugin(
	reply{"name": "words", "version": "1.0.0", "description": "Counts words, and says what was counted", "hooks": []string{"post_tool_execute"},
		"tools": []reply{{"name": "count", "description": "Counts the words of a text",
			"parameters": []reply{{"name": "text", "type": "string", "description": "What to count", "required": true}}}}},
	func(method string, p map[string]any) reply {
		if method != "tool/execute" {
			return reply{"action": "continue", "result": str(p, "result") + " words"}
		}
		arguments, _ := p["arguments"].(map[string]any)
		return reply{"success": true, "result": strconv.Itoa(len(strings.Fields(str(arguments, "text"))))}
	})}

var secret = pattern.New(`sk-[A-Za-z0-9-]{8,}`)

// redact removes text that looks like a secret from replies.
var redact = sample{file: "patchbay-demo-redact", folder: scaffoldFolder, run: scaffoldPlugin(
	reply{"name": "redact", "version": "1.0.0", "description": "Blacks out what looks like a secret", "hooks": []string{"post_llm_response"}, "priority": 900},
	func(method string, p map[string]any) reply {
		return reply{"action": "continue", "text": secret.Regexp().ReplaceAllString(str(p, "text"), "[redacted]")}
	})}
