package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A word says what a field is, and shows one. Fields whose types are made for this API say so in
// their tags; here are those whose types are not, and parameters and operations whose names say
// nearly all.
type word struct {
	doc     string
	example string // as JSON
}

// describeAll fills in what no tag says.
func describeAll(doc *huma.OpenAPI) {
	describeBodies(doc)
	fields := fieldWords()
	for name, schema := range doc.Components.Schemas.Map() {
		for field, property := range schema.Properties {
			fields[name+"."+field].fill(property)
		}
	}
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

func (w word) fill(s *huma.Schema) {
	if s.Description == "" {
		s.Description = w.doc
	}
	if len(s.Examples) == 0 && w.example != "" {
		s.Examples = []any{json.RawMessage(w.example)}
	}
}

func parameterWords() map[string]string {
	return map[string]string{"name": `"words"`, "id": `"ses_01jz"`, "agent": `"disk-report"`, "schedule": `"daily"`, "time": `"20261116T060000.000Z"`, "key": `"level"`,
		"limit": `50`, "after": `"cnVuczoxIDU"`, "session": `"ses_01jz"`, "Last-Event-ID": `"57"`}
}

func operationWords() map[string]string {
	return map[string]string{
		"delete-source":      "Removes the file. Sessions that have it go on without it.",
		"get-source":         "With its source text. One that does not load is shown too: its metadata is an object with the error.",
		"reload-source":      "Reads the file again. Turns under way go on with the code they began with.",
		"validate-source":    "Runs it in a sandbox in which there is nothing but the interpreter. Where there is no sandbox, it is only looked at.",
		"get-feature":        "Whether a part of the daemon is switched on.",
		"list-features":      "Every flag there is, and whether it is on.",
		"enable-feature":     "Acts at once, and stays so when the daemon is started again.",
		"disable-feature":    "Acts at once, and stays so when the daemon is started again.",
		"metrics":            "In Prometheus' text format.",
		"openapi":            "This document.",
		"session-delete":     "Its plugins are told; a turn that runs is interrupted. Its transcript and its events go too.",
		"session-get":        "One conversation, without its transcript.",
		"session-update":     "What is left out stays as it is.",
		"session-interrupt":  "The turn ends as soon as its tools let it, and is kept as interrupted.",
		"doctor":             "With how to fix each. Plugins of mine are asked for their health, for at most five seconds in all.",
		"list-plugins":       "Also those that do not work, with the reason.",
		"list-tools":         "With the JSON Schema of their parameters. The agent's built-in tools are not among them.",
		"get-run":            "With its attempts.",
		"session-transcript": "Every entry of it, the oldest first: messages, compactions, and how turns ended.",
	}
}

func fieldWords() map[string]word {
	const session, turn = `"ses_01jz"`, `"turn_01jz"`
	return map[string]word{
		"AllReloaded.reloaded": {"Always true.", `true`},

		"Compaction.before":   {"How many messages there were.", `42`},
		"Compaction.by":       {"Who made it shorter: a plugin, or the agent.", `"agent"`},
		"Compaction.messages": {"What the conversation goes on with.", ``},
		"Compaction.strategy": {"How.", `"summarize"`},
		"Compaction.trigger":  {"auto or manual.", `"auto"`},

		"DaemonAgents.all": {"", `2`}, "DaemonAgents.broken": {"", `0`}, "DaemonAgents.running": {"", `1`},
		"DaemonNextRun.agent": {"", `"disk-report"`}, "DaemonNextRun.at": {"", `"2026-11-17T06:00:00Z"`}, "DaemonNextRun.schedule": {"", `"daily"`},
		"DaemonPlugins.all": {"", `5`}, "DaemonPlugins.ready": {"", `4`},
		"DaemonStatus.began": {"", `"2026-11-16T06:00:19Z"`}, "DaemonStatus.hooks": {"", `false`}, "DaemonStatus.http": {"", `"http://127.0.0.1:8000"`},
		"DaemonStatus.log": {"", `"/home/mira/.local/state/patchbay/serve.log"`}, "DaemonStatus.model": {"", `"anthropic:claude-sonnet-4-5"`},
		"DaemonStatus.pid": {"", `22188`}, "DaemonStatus.socket": {"", `"/home/mira/.local/state/patchbay/patchbay.sock"`}, "DaemonStatus.version": {"", `"0.1.0"`},

		"Deleted.deleted": {"What was deleted.", `"sign"`},
		"Doctor.findings": {"The most general first.", ``},
		"Doctor.ok":       {"Whether none of them is an error.", `false`},

		"Entry.compaction": {"How the conversation was made shorter.", ``}, "Entry.message": {"What was said.", ``}, "Entry.seq": {"Its place in the transcript.", `7`}, "Entry.status": {"How the turn stands: began, done, failed, skipped or interrupted.", `"done"`},
		"Entry.time": {"When it was written.", `"2026-11-16T06:00:19Z"`}, "Entry.turn": {"The turn it is of.", turn},
		"Entry.kind": {"What it is.", `"message"`}, "Entry.type": {"What it is.", `"message"`}, "Entry.error": {"What went wrong.", `"the model does not answer"`}, "Entry.text": {"What it says.", `"hello"`},

		"Feature.default": {"How it stands where nobody has set it.", `false`}, "Feature.description": {"What it switches.", `"Python plugins in sessions over HTTP"`},
		"Feature.enabled": {"Whether it is on.", `true`}, "Feature.name": {"Its name.", `"plugins"`}, "Feature.stage": {"How settled it is.", `"beta"`},

		"FireBody.data": {"", `{"message":"hello"}`}, "FireBody.point": {"", `"turn.input"`}, "FireBody.trace": {"", `true`},

		"HookAnswer.exit_code": {"With which the hook ends.", `0`}, "HookAnswer.notes": {"", `["inject is not possible here"]`},
		"HookAnswer.stderr": {"What the hook prints for the person.", `""`}, "HookAnswer.stdout": {"What the hook prints for the agent.", `"{\"decision\":\"block\"}"`},
		"HookRequest.deadline_ms": {"", `30000`}, "HookRequest.dir": {"", `"/home/mira/notes"`}, "HookRequest.environ": {"", `{"CLAUDE_PROJECT_DIR":"/home/mira/notes"}`},
		"HookRequest.event": {"", `"PreToolUse"`}, "HookRequest.input": {"", `{"session_id":"s","tool_name":"Bash"}`}, "HookRequest.protocol": {"", `1`}, "HookRequest.version": {"", `"0.1.0"`},

		"Interrupted.interrupted": {"", `true`},

		"KnobChange.backup":  {"The file from before; empty where it did not change, or was not there.", `"/home/mira/.config/patchbay/config.toml.patchbay.bak"`},
		"KnobChange.changed": {"Whether the file did.", `true`}, "KnobChange.file": {"Where the value was written.", `"/home/mira/.config/patchbay/config.toml"`},
		"KnobChange.plugin": {"The plugin.", `"notes"`}, "KnobChange.restarted": {"Whether the plugin was, and works with it.", `true`},
		"KnobSettingBody.project": {"", `false`}, "KnobSettingBody.value": {"", `5`},

		"Message.content": {"What it says.", `"hello"`}, "Message.failed": {"Of a tool's answer: it did not succeed.", `false`}, "Message.name": {"The tool that answers.", `"read_file"`},
		"Message.role": {"user, assistant, tool or system.", `"user"`}, "Message.tool_call_id": {"The call that it answers.", `"call_1"`}, "Message.tool_calls": {"What the model wants to be done.", ``},
		"MessageBody.text": {"", `"what is this?"`},

		"MethodCallBody.method": {"", `"notes.count"`}, "MethodCallBody.params": {"", `{}`},
		"MethodResult.error": {"", `null`}, "MethodResult.method": {"The method.", `"notes.count"`}, "MethodResult.plugin": {"The plugin.", `"notes"`}, "MethodResult.result": {"What it answered.", `{"count":3}`},

		"Problem.detail":  {"", `"Plugin not found: nope"`},
		"Reloaded.plugin": {"The plugin.", `"notes"`}, "Reloaded.restarted": {"Whether it was, and works.", `true`},

		"Session.created_at": {"When it was made.", `"2026-11-16T06:00:19Z"`}, "Session.host": {"The other agent that it is of; absent where it is Patchbay's own.", `"claude"`},
		"Session.from":         {"chat, where it was begun in the chat; absent elsewhere.", `"chat"`},
		"Session.host_session": {"Another agent's own id of it.", `"0b9d7f"`}, "Session.id": {"Its id.", session}, "Session.plugins": {"The Python plugins that are active in it, in this order.", `["sign"]`},
		"Session.title": {"What it is about; may be empty.", `"words in notes.md"`}, "Session.working_dir": {"Where its tools work.", `"/home/mira/notes"`},
		"SessionCreateBody.plugins": {"", `["sign"]`}, "SessionCreateBody.title": {"What it is about.", `"words"`}, "SessionCreateBody.working_dir": {"", `"/home/mira/notes"`},
		"SessionUpdateBody.plugins": {"", `["sign"]`}, "SessionUpdateBody.title": {"What it is about.", `"words"`},

		"SourceDetail.content": {"The source text.", `"@on_final\nasync def add(ctx, text):\n    return text\n"`}, "SourceDetail.hooks": {"In lifecycle order.", `["on_final"]`},
		"SourceDetail.metadata": {"", `{"api":"1.0","name":"sign"}`}, "SourceDetail.name": {"Its name.", `"sign"`}, "SourceDetail.path": {"Its file.", `"/home/mira/.agent/plugins/sign.py"`},
		"SourceItem.error": {"", `null`}, "SourceItem.hooks": {"", `["on_final"]`}, "SourceItem.metadata": {"", `{"api":"1.0","name":"sign"}`}, "SourceItem.name": {"Its name.", `"sign"`},
		"SourceList.feature_enabled": {"Whether Python plugins take part in sessions over HTTP.", `true`}, "SourceList.plugins": {"By name.", ``},
		"SourceLoaded.hooks": {"In lifecycle order.", `["on_final"]`}, "SourceLoaded.metadata": {"The file's __plugin__.", `{"api":"1.0","name":"sign"}`}, "SourceLoaded.name": {"Its name.", `"sign"`},
		"SourceSaved.name": {"Its name.", `"sign"`}, "SourceSaved.path": {"Its file.", `"/home/mira/.agent/plugins/sign.py"`},
		"SourceTextBody.content": {"", `"@on_final\nasync def add(ctx, text):\n    return text\n"`}, "SourceTextBody.name": {"", `"sign"`},

		"StartJobBody.once": {"", `false`}, "StartJobBody.schedule": {"", `"daily"`},

		"Tool.description": {"What it does.", `"counts words"`}, "Tool.dialect": {"The plugin's protocol.", `"scaffold"`}, "Tool.name": {"", `"plugin_words_count"`},
		"Tool.parameters": {"", `{"type":"object","properties":{"text":{"type":"string"}}}`}, "Tool.plugin": {"Whose it is.", `"words"`},
		"ToolCall.arguments": {"What it is called with.", `{"path":"notes.md"}`}, "ToolCall.id": {"By which the answer names it.", `"call_1"`},
		"ToolCall.malformed": {"What the model wrote, where that is no JSON.", `"{path:"`}, "ToolCall.name": {"The tool.", `"read_file"`},
		"ToolCallBody.arguments": {"", `{"text":"to be"}`},
		"ToolResult.error":       {"How it failed; null where it succeeded.", `null`}, "ToolResult.result": {"What it answered.", `"2"`},
		"ToolResult.success": {"Whether it succeeded.", `true`}, "ToolResult.tool": {"The tool.", `"plugin_words_count"`},
		"ToolUse.arguments": {"What it was called with.", `{"path":"notes.md"}`}, "ToolUse.name": {"The tool.", `"read_file"`}, "ToolUse.resolved_by": {"", `null`},
		"ToolUse.result": {"What it answered.", `"# Notes\n"`}, "ToolUse.success": {"Whether it succeeded.", `true`},

		"TracePage.next":   {"", `"dHJhY2VzOjU4"`},
		"TurnResult.error": {"What went wrong; null where nothing did.", `null`}, "TurnResult.session_id": {"The session.", session},
		"TurnResult.skipped": {"", `false`}, "TurnResult.text": {"The answer, as plugins left it.", `"It has 42 words."`}, "TurnResult.tools": {"The tools that were called.", ``},

		"YieldRequest.serve": {"", `true`}, "YieldRequest.version": {"", `"0.1.0"`}, "Yielded.yields": {"Whether it makes room.", `true`},
	}
}
