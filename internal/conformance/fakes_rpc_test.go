//go:build unix

package conformance

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func playScaffold(fault string) {
	f := &fakeRPC{fault: fault, first: "initialize"}
	f.silent = func(method string) bool {
		return fault == "hook-silent" && method == "hook/post_user_input" || fault == "tool-silent" && method == "tool/execute" ||
			fault == "mute" && strings.HasPrefix(method, "conformance.")
	}
	f.answer = func(method string, params json.RawMessage) (string, string) {
		switch method {
		case "initialize":
			return scaffoldManifest(fault), ""
		case "hook/post_user_input", "hook/context_enhance", "hook/pre_tool_execute":
			return scaffoldAnswer(fault)
		case "tool/execute":
			return scaffoldTool_(fault, params), ""
		case "shutdown":
			switch fault {
			case "shutdown-error":
				return "", noMethod
			case "shutdown-empty":
				return `{}`, ""
			}
			return `{"ok":true}`, ""
		}
		return "", noMethod
	}
	f.play()
}

func scaffoldManifest(fault string) string {
	name, version, hooks, tools, priority := `"fake"`, `"1.0.0"`, `["post_user_input","context_enhance"]`,
		`[{"name":"count","description":"Counts.","parameters":[{"name":"text","type":"string","description":"What.","required":true},{"name":"n","type":"integer","description":"How many.","required":false}]}]`, `500`
	switch fault {
	case "name":
		name = `"my_plugin"`
	case "fields":
		version = `1`
	case "priority":
		priority = `"high"`
	case "hooks":
		hooks = `["post_user_input","pre_llm_sent"]`
	case "tools":
		tools = `[{"description":"Nameless.","parameters":[]}]`
	case "tool-type":
		tools = strings.Replace(tools, `"integer"`, `"int"`, 1)
	case "arguments", "success":
		hooks = `["pre_tool_execute"]`
	case "tool-name":
		tools = strings.Replace(tools, `"count"`, `"co unt"`, 1)
	case "tool-required":
		tools = strings.Replace(tools, `,"required":false`, ``, 1)
	}
	extra := ""
	if fault == "odd-key" {
		extra = `,"hook":[]`
	}
	return fmt.Sprintf(`{"name":%s,"version":%s,"description":"A fake","hooks":%s,"tools":%s,"priority":%s%s}`, name, version, hooks, tools, priority, extra)
}

func scaffoldAnswer(fault string) (string, string) {
	switch fault {
	case "hook-error":
		return "", `{"code":-32000,"message":"cannot"}`
	case "hook-list":
		return `[]`, ""
	case "hook-dies":
		syscall.Exit(5)
	case "action":
		return `{"action":"proceed"}`, ""
	case "field":
		return `{"action":"continue","message":42,"dynamic_context":42}`, ""
	case "arguments":
		return `{"action":"continue","arguments":"ls -l"}`, ""
	case "success":
		return `{"action":"stop","result":"no","success":"no"}`, ""
	case "misspelt":
		return `{"action":"continue","mesage":"x"}`, ""
	}
	return `{"action":"continue"}`, ""
}

func scaffoldTool_(fault string, params json.RawMessage) string {
	var p struct{ Name string }
	_ = json.Unmarshal(params, &p) // written by the tests
	switch {
	case fault == "tool-result":
		return `{"success":true}`
	case fault == "tool-success":
		return `{"success":"yes","result":"1"}`
	case fault == "tool-no-success" && p.Name == "count":
		return `{"result":"4"}`
	case strings.HasPrefix(p.Name, "co") && !strings.HasPrefix(p.Name, "conf") || fault == "tool-any":
		return `{"success":true,"result":"4"}`
	}
	return `{"success":false,"result":"no such tool"}`
}

// kagedFake returns a manifest, changed by a fault.
func kagedFake(fault string) string {
	text := `name: fake
version: 1.0.0
kaged_api: 1
description: A fake
command: [./kaged-` + fault + `]
capabilities: ["net:[]", "kaged:storage:read", "kaged:storage:write"]
methods: [fake.count]
notifications: [fake.counted]
hooks: [on_session_start, on_session_idle, pre_compact, post_compact]
shutdown_timeout_sec: 5
tools:
  - name: add
    description: Adds.
    parameters_schema: {type: object, required: [text], properties: {text: {type: string}, n: {type: integer, minimum: 1, maximum: 9}}}
config_schema: {type: object, properties: {shown: {type: integer, minimum: 0, maximum: 20}}}
`
	for _, change := range [][3]string{
		{"manifest", "description: A fake\n", ""},
		{"odd", "description: A fake\n", "description: A fake\nlicence: MIT\n"},
		{"config-any", "shown: {type: integer, minimum: 0, maximum: 20}", "shown: {}"},
		{"storage", `, "kaged:storage:read", "kaged:storage:write"`, ""},
		{"no-program", "./kaged-no-program", "./nothing"},
	} {
		if fault == change[0] {
			text = strings.Replace(text, change[1], change[2], 1)
		}
	}
	return text
}

func playKaged(fault string) {
	f := &fakeRPC{fault: fault, first: "initialize"}
	f.silent = func(method string) bool {
		return fault == "health" && method == "health.check" || fault == "hook-silent" && method == "kaged.hook.on_session_idle" ||
			fault == "tool-silent" && method == "fake.add" || fault == "method-silent" && method == "fake.count"
	}
	f.answer = func(method string, params json.RawMessage) (string, string) {
		switch method {
		case "initialize":
			return kagedWelcome(fault, params)
		case "health.check", "shutdown":
			return `{}`, ""
		case "fake.add":
			return f.kagedAdd()
		case "fake.count":
			if fault == "method" {
				return "", noMethod
			}
			return `{"n":1}`, ""
		}
		if hook, ok := strings.CutPrefix(method, "kaged.hook."); ok {
			return kagedHook(fault, hook)
		}
		return "", noMethod
	}
	f.play()
}

func kagedWelcome(fault string, params json.RawMessage) (string, string) {
	name, api, methods, used := "fake", "1", `["fake.count"]`, `["kaged:storage:read"]`
	switch fault {
	case "api":
		api = "2"
	case "welcome-name":
		name = "other"
	case "welcome-type":
		methods = `"fake.count"`
	case "welcome-method":
		methods = `[]`
	case "storage":
		used = `[]`
	case "config-refused":
		if strings.Contains(string(params), `"shown":20`) {
			return "", `{"code":-32000,"message":"shown is too large"}`
		}
	}
	return fmt.Sprintf(`{"name":%q,"version":"1.0.0","api_version":%s,"methods":%s,"notifications":["fake.counted"],"capabilities_used":%s}`, name, api, methods, used), ""
}

func (f *fakeRPC) kagedAdd() (string, string) {
	switch f.fault {
	case "tool":
		return "", noMethod
	case "tool-fails":
		return "", `{"code":-32000,"message":"cannot"}`
	case "undeclared":
		f.write(`{"jsonrpc":"2.0","method":"fake.surprise","params":{}}`)
	case "flood":
		for range 300 {
			f.write(`{"jsonrpc":"2.0","method":"fake.counted","params":{}}`)
		}
	case "request":
		f.write(`{"jsonrpc":"2.0","id":"q1","method":"kaged.model.ask","params":{}}`)
	case "request-params":
		f.write(`{"jsonrpc":"2.0","id":"q1","method":"kaged.storage.get","params":{"name":"a"}}`)
	case "storage", "storage-used":
		f.write(`{"jsonrpc":"2.0","id":"q1","method":"kaged.storage.put","params":{"key":"a","value":1}}`)
	case "file":
		if _, err := os.ReadFile(secret()); err != nil {
			return "", fmt.Sprintf(`{"code":-32000,"message":%q}`, err.Error())
		}
	case "write":
		if err := os.WriteFile(beside(), nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "fake:", err)
		}
	case "program":
		if err := exec.Command("git", "--version").Run(); err != nil {
			fmt.Fprintln(os.Stderr, "fake:", err)
		}
	case "network":
		c, err := net.DialTimeout("tcp", "192.0.2.7:443", 2*time.Second)
		if err == nil {
			c.Close()
		}
	}
	return `"added"`, ""
}

func kagedHook(fault, hook string) (string, string) {
	switch {
	case fault == "hook-error":
		return "", `{"code":-32000,"message":"cannot"}`
	case fault == "inject" && hook == "on_session_start":
		return `{"inject":["a"]}`, ""
	case fault == "retain" && hook == "post_compact":
		return `{"retain":["a"]}`, ""
	case fault == "hook-stray" && hook == "on_session_start":
		return `{"injct":"hello"}`, ""
	case hook == "on_session_start":
		return `{"inject":"hello"}`, ""
	case hook == "post_compact":
		return `{"retain":[{"role":"user","content":"a"}]}`, ""
	}
	return `null`, ""
}

func playMCP(fault string) {
	f := &fakeRPC{fault: fault, first: "initialize"}
	f.answer = func(method string, params json.RawMessage) (string, string) {
		var p struct {
			Name, Cursor string
			Meta         map[string]any `json:"_meta"`
		}
		_ = json.Unmarshal(params, &p) // written by the tests
		if fault == "modern" {
			switch {
			case method == "initialize", method == "ping", strings.HasPrefix(method, "conformance."):
				return "", noMethod
			case p.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28":
				return "", `{"code":-32602,"message":"no _meta"}`
			case method == "server/discover":
				return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.0.0"}}}`, ""
			}
		}
		switch method {
		case "initialize":
			return mcpWelcome(fault), ""
		case "ping":
			if fault == "ping" {
				return "", noMethod
			}
			return `{}`, ""
		case "tools/list":
			return mcpTools(fault, p.Cursor), ""
		case "tools/call":
			return mcpCall(fault, p.Name)
		case "prompts/list":
			return map[bool]string{false: `{"prompts":[{"name":"a"}]}`, true: `{"prompts":[{"name":"a"},{"name":"a"}]}`}[fault == "prompts"], ""
		case "resources/list":
			return map[bool]string{false: `{"resources":[{"uri":"a://b","name":"a"}]}`, true: `{"resources":[{"name":"a"}]}`}[fault == "resources"], ""
		}
		return "", noMethod
	}
	f.play()
}

func mcpWelcome(fault string) string {
	version, info, capabilities := "2025-06-18", `{"name":"fake","version":"1.0.0"}`, `{"tools":{},"prompts":{},"resources":{}}`
	switch fault {
	case "version":
		version = "1.0"
	case "info":
		info = `{"title":"Fake"}`
	case "capabilities":
		capabilities = `["tools"]`
	}
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s}`, version, capabilities, info)
}

func mcpTools(fault, cursor string) string {
	one := `{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`
	switch {
	case fault == "tools":
		return `{"tools":[{"name":"echo"}]}`
	case fault == "tools-schema":
		return `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"a":{"type":"txt"}}}}]}`
	case fault == "pages":
		return `{"tools":[],"nextCursor":"more"}`
	case cursor == "":
		return `{"tools":[` + one + `],"nextCursor":"2"}`
	}
	return `{"tools":[{"name":"drop","annotations":{"destructiveHint":true},"inputSchema":{"type":"object"}}]}`
}

func mcpCall(fault, tool string) (string, string) {
	switch {
	case tool == "echo" && fault == "content":
		return `{"text":"hello"}`, ""
	case tool == "echo" && fault == "output":
		return `{"content":[],"structuredContent":{"n":"one"}}`, ""
	case tool == "echo" && fault == "call-error":
		return "", `{"code":-32603,"message":"cannot"}`
	case tool == "echo" || fault == "tool-any":
		return `{"content":[{"type":"text","text":"hello"}],"structuredContent":{"n":1}}`, ""
	}
	return "", `{"code":-32602,"message":"no such tool"}`
}
