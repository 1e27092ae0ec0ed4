package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A word describes a field, with an example. Types that are made for this API have descriptions in
// their tags. Here are those of other types, and of parameters and operations.
type word struct {
	doc     string
	example string // in JSON
}

// describeAll fills in the descriptions that no tag has.
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

func fieldWords() map[string]word {
	const session, turn = `"ses_01jz"`, `"turn_01jz"`
	return map[string]word{
		"AllReloaded.reloaded": {"Always true.", `true`},

		"Compaction.before":   {"How many messages there were.", `42`},
		"Compaction.by":       {"What made it shorter: a plugin, or the agent.", `"agent"`},
		"Compaction.messages": {"The messages that the conversation continues with.", ``},
		"Compaction.strategy": {"The method.", `"summarize"`},
		"Compaction.trigger":  {"auto or manual.", `"auto"`},

		"DaemonAgents.all": {"", `2`}, "DaemonAgents.broken": {"", `0`}, "DaemonAgents.running": {"", `1`},
		"DaemonNextRun.agent": {"", `"disk-report"`}, "DaemonNextRun.at": {"", `"2026-11-17T06:00:00Z"`}, "DaemonNextRun.schedule": {"", `"daily"`},
		"DaemonPlugins.all": {"", `5`}, "DaemonPlugins.ready": {"", `4`},
		"DaemonStatus.began": {"", `"2026-11-16T06:00:19Z"`}, "DaemonStatus.hooks": {"", `false`}, "DaemonStatus.http": {"", `"http://127.0.0.1:8000"`},
		"DaemonStatus.log": {"", `"/home/mira/.local/state/patchbay/serve.log"`}, "DaemonStatus.model": {"", `"anthropic:claude-sonnet-4-5"`},
		"DaemonStatus.pid": {"", `22188`}, "DaemonStatus.socket": {"", `"/home/mira/.local/state/patchbay/patchbay.sock"`}, "DaemonStatus.version": {"", `"0.1.0"`},

		"Deleted.deleted": {"What was deleted.", `"sign"`},
		"Doctor.findings": {"The most general first.", ``},
		"Doctor.ok":       {"Whether there is no error among them.", `false`},

		"Entry.compaction": {"How the conversation was made shorter.", ``}, "Entry.message": {"The message.", ``}, "Entry.seq": {"Its place in the transcript.", `7`}, "Entry.status": {"The state of the turn: began, done, failed, skipped or interrupted.", `"done"`},
		"Entry.time": {"When it was written.", `"2026-11-16T06:00:19Z"`}, "Entry.turn": {"The turn that it belongs to.", turn},
		"Entry.kind": {"What it is.", `"message"`}, "Entry.type": {"What it is.", `"message"`}, "Entry.error": {"What went wrong.", `"the model does not answer"`}, "Entry.text": {"What it says.", `"hello"`},

		"Feature.default": {"Its value if it was never set.", `false`}, "Feature.description": {"What it switches on and off.", `"Python plugins in sessions over HTTP"`},
		"Feature.enabled": {"Whether it is on.", `true`}, "Feature.name": {"Its name.", `"plugins"`}, "Feature.stage": {"How stable it is.", `"beta"`},

		"FireBody.data": {"", `{"message":"hello"}`}, "FireBody.point": {"", `"turn.input"`}, "FireBody.trace": {"", `true`},

		"HookAnswer.exit_code": {"The exit code of the hook.", `0`}, "HookAnswer.notes": {"", `["inject is not possible here"]`},
		"HookAnswer.stderr": {"What the hook prints for the user.", `""`}, "HookAnswer.stdout": {"What the hook prints for the agent.", `"{\"decision\":\"block\"}"`},
		"HookRequest.deadline_ms": {"", `30000`}, "HookRequest.dir": {"", `"/home/mira/notes"`}, "HookRequest.environ": {"", `{"CLAUDE_PROJECT_DIR":"/home/mira/notes"}`},
		"HookRequest.event": {"", `"PreToolUse"`}, "HookRequest.input": {"", `{"session_id":"s","tool_name":"Bash"}`}, "HookRequest.protocol": {"", `1`}, "HookRequest.version": {"", `"0.1.0"`},

		"Interrupted.interrupted": {"", `true`},

		"KnobChange.backup":  {"The old file; empty if nothing changed, or there was no file.", `"/home/mira/.config/patchbay/config.toml.patchbay.bak"`},
		"KnobChange.changed": {"Whether the file changed.", `true`}, "KnobChange.file": {"Where the value was written.", `"/home/mira/.config/patchbay/config.toml"`},
		"KnobChange.plugin": {"The plugin.", `"notes"`}, "KnobChange.restarted": {"Whether the plugin was restarted and works.", `true`},
		"KnobSettingBody.project": {"", `false`}, "KnobSettingBody.value": {"", `5`},

		"Message.content": {"The text of the message.", `"hello"`}, "Message.failed": {"For the answer of a tool: the call failed.", `false`}, "Message.name": {"The tool that answers.", `"read_file"`},
		"Message.role": {"user, assistant, tool or system.", `"user"`}, "Message.tool_call_id": {"The call that it answers.", `"call_1"`}, "Message.tool_calls": {"The tool calls that the model asks for.", ``},
		"MessageBody.text": {"", `"what is this?"`},

		"MethodCallBody.method": {"", `"notes.count"`}, "MethodCallBody.params": {"", `{}`},
		"MethodResult.error": {"", `null`}, "MethodResult.method": {"The method.", `"notes.count"`}, "MethodResult.plugin": {"The plugin.", `"notes"`}, "MethodResult.result": {"What it answered.", `{"count":3}`},

		"Problem.detail":  {"", `"Plugin not found: nope"`},
		"Reloaded.plugin": {"The plugin.", `"notes"`}, "Reloaded.restarted": {"Whether the plugin was restarted and works.", `true`},

		"Session.created_at": {"When it was created.", `"2026-11-16T06:00:19Z"`}, "Session.host": {"The other agent that it belongs to; absent if it is Patchbay's own.", `"claude"`},
		"Session.from":         {"chat, if it was begun in the chat; else absent.", `"chat"`},
		"Session.host_session": {"Its id in another agent.", `"0b9d7f"`}, "Session.id": {"Its id.", session}, "Session.plugins": {"The Python plugins that are active in it, in this order.", `["sign"]`},
		"Session.title": {"The title; may be empty.", `"words in notes.md"`}, "Session.working_dir": {"The directory of its tools.", `"/home/mira/notes"`},
		"SessionCreateBody.plugins": {"", `["sign"]`}, "SessionCreateBody.title": {"The title.", `"words"`}, "SessionCreateBody.working_dir": {"", `"/home/mira/notes"`},
		"SessionUpdateBody.plugins": {"", `["sign"]`}, "SessionUpdateBody.title": {"The title.", `"words"`},

		"SourceDetail.content": {"The source text.", `"@on_final\nasync def add(ctx, text):\n    return text\n"`}, "SourceDetail.hooks": {"In lifecycle order.", `["on_final"]`},
		"SourceDetail.metadata": {"", `{"api":"1.0","name":"sign"}`}, "SourceDetail.name": {"Its name.", `"sign"`}, "SourceDetail.path": {"Its file.", `"/home/mira/.agent/plugins/sign.py"`},
		"SourceItem.error": {"", `null`}, "SourceItem.hooks": {"", `["on_final"]`}, "SourceItem.metadata": {"", `{"api":"1.0","name":"sign"}`}, "SourceItem.name": {"Its name.", `"sign"`},
		"SourceList.feature_enabled": {"Whether Python plugins take part in sessions over HTTP.", `true`}, "SourceList.plugins": {"By name.", ``},
		"SourceLoaded.hooks": {"In lifecycle order.", `["on_final"]`}, "SourceLoaded.metadata": {"The file's __plugin__.", `{"api":"1.0","name":"sign"}`}, "SourceLoaded.name": {"Its name.", `"sign"`},
		"SourceSaved.name": {"Its name.", `"sign"`}, "SourceSaved.path": {"Its file.", `"/home/mira/.agent/plugins/sign.py"`},
		"SourceTextBody.content": {"", `"@on_final\nasync def add(ctx, text):\n    return text\n"`}, "SourceTextBody.name": {"", `"sign"`},

		"StartJobBody.once": {"", `false`}, "StartJobBody.schedule": {"", `"daily"`},

		"Tool.description": {"What it does.", `"counts words"`}, "Tool.dialect": {"The plugin's protocol.", `"scaffold"`}, "Tool.name": {"", `"plugin_words_count"`},
		"Tool.parameters": {"", `{"type":"object","properties":{"text":{"type":"string"}}}`}, "Tool.plugin": {"The plugin that has it.", `"words"`},
		"ToolCall.arguments": {"The arguments of the call.", `{"path":"notes.md"}`}, "ToolCall.id": {"The id that the answer repeats.", `"call_1"`},
		"ToolCall.malformed": {"What the model wrote, if it is not JSON.", `"{path:"`}, "ToolCall.name": {"The tool.", `"read_file"`},
		"ToolCallBody.arguments": {"", `{"text":"to be"}`},
		"ToolResult.error":       {"How it failed; null if it succeeded.", `null`}, "ToolResult.result": {"What it answered.", `"2"`},
		"ToolResult.success": {"Whether it succeeded.", `true`}, "ToolResult.tool": {"The tool.", `"plugin_words_count"`},
		"ToolUse.arguments": {"The arguments of the call.", `{"path":"notes.md"}`}, "ToolUse.name": {"The tool.", `"read_file"`}, "ToolUse.resolved_by": {"", `null`},
		"ToolUse.result": {"What it answered.", `"# Notes\n"`}, "ToolUse.success": {"Whether it succeeded.", `true`},

		"TracePage.next":   {"", `"dHJhY2VzOjU4"`},
		"TurnResult.error": {"What went wrong; null if nothing did.", `null`}, "TurnResult.session_id": {"The session.", session},
		"TurnResult.skipped": {"", `false`}, "TurnResult.text": {"The answer, as plugins left it.", `"It has 42 words."`}, "TurnResult.tools": {"The tools that were called.", ``},

		"YieldRequest.serve": {"", `true`}, "YieldRequest.version": {"", `"0.1.0"`}, "Yielded.yields": {"Whether it gives up its place.", `true`},
	}
}
