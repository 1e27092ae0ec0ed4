package codehook_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestFieldsOfEvents: session, turn, call and directories are read from the fields of each agent.
func TestFieldsOfEvents(t *testing.T) {
	type read struct {
		session, request, call, dir, root, prompt string
		begins, ends, last                        bool
	}
	for _, c := range []struct {
		agent       codehook.Agent
		event, data string
		want        read
	}{
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","session_id":"s","prompt_id":"p","tool_use_id":"c","cwd":"/w","tool_name":"Bash","tool_input":{}}`,
			read{session: "s", request: "p", call: "c", dir: "/w", root: "/root-of-claude"}},
		{codehook.Codex, "", `{"hook_event_name":"UserPromptSubmit","session_id":"s","turn_id":"t","cwd":"/w","prompt":"hi"}`,
			read{session: "s", request: "t", dir: "/w", root: "/w", prompt: "hi", begins: true}},
		{codehook.Gemini, "", `{"hook_event_name":"BeforeAgent","session_id":"s","cwd":"/w","prompt":"<hook_context>added</hook_context>\n\nhi"}`,
			read{session: "s", dir: "/w", root: "/root-of-gemini", prompt: "hi", begins: true}},
		{codehook.Gemini, "", `{"hook_event_name":"AfterAgent","session_id":"s","cwd":"/w","prompt":"hi","prompt_response":"ho"}`,
			read{session: "s", dir: "/w", root: "/root-of-gemini", ends: true}},
		{codehook.Copilot, "sessionEnd", `{"sessionId":"s","cwd":"/w"}`, read{session: "s", dir: "/w", root: "/w", last: true}},
		{codehook.Copilot, "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash"}`, read{session: "s", dir: "/dir", root: "/dir"}},
		{codehook.Cursor, "", `{"hook_event_name":"stop","conversation_id":"s","generation_id":"g","workspace_roots":["/w","/v"]}`,
			read{session: "s", request: "g", dir: "/w", root: "/w", ends: true}},
		{codehook.Cursor, "", `{"hook_event_name":"stop","conversation_id":"s","generation_id":"s","session_id":"s"}`,
			read{session: "s", dir: "/dir", root: "/root-of-cursor", ends: true}},
		{codehook.OpenCode, "", `{"id":1,"event":"tool.execute.before","input":{"tool":"bash","sessionID":"s","callID":"c"},"output":{"args":{}}}`,
			read{session: "s", call: "c", dir: "/dir", root: "/dir"}},
		{codehook.OpenCode, "", `{"id":1,"event":"chat.message","input":{"sessionID":"s","directory":"/w"},"output":{"parts":[{"type":"text","text":"hi"}]}}`,
			read{session: "s", dir: "/w", root: "/w", prompt: "hi", begins: true}},
		{codehook.OpenCode, "", `{"id":1,"event":"event","input":{"event":{"type":"session.created","properties":{"info":{"id":"s","directory":"/w"}}}}}`,
			read{session: "s", dir: "/w", root: "/w"}},
		{codehook.OpenCode, "", `{"id":1,"event":"tool.execute.after","input":{"tool":"a_b","sessionID":"s","callID":"c","directory":"/w"},` +
			`"output":{"content":[],"cwd":"/x","directory":"/x","worktree":"/x","sessionID":"x","callID":"x"}}`, // an MCP server wrote the output
			read{session: "s", call: "c", dir: "/w", root: "/w"}},
	} {
		m, err := codehook.Parse(codehook.Input{Agent: c.agent, Event: c.event, Data: []byte(c.data), Dir: "/dir", Environ: map[string]string{
			"CLAUDE_PROJECT_DIR": "/root-of-claude", "GEMINI_PROJECT_DIR": "/root-of-gemini", "CURSOR_PROJECT_DIR": "/root-of-cursor"}})
		if err != nil {
			t.Fatal(err)
		}
		got := read{m.Session, m.Request, m.CallID, m.Dir, m.Root, m.Prompt, m.Begins, m.Ends, m.Last}
		if got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.agent, m.Event, got, c.want)
		}
	}
}

// TestInvalidEvents: invalid data is an error, and the answer to it is no opinion.
func TestInvalidEvents(t *testing.T) {
	deep := `{"hook_event_name":"Stop","x":` + strings.Repeat("[", rawjson.MaxForeign) + strings.Repeat("]", rawjson.MaxForeign) + "}"
	for _, c := range []struct{ name, agent, event, data, want string }{
		{"no JSON", "cursor", "preToolUse", "hello", "not a JSON object"},
		{"nothing", "claude", "PreToolUse", "", "not a JSON object"},
		{"a list", "claude", "PreToolUse", "[]", "not a JSON object"},
		{"two documents", "claude", "PreToolUse", "{}{}", "not a JSON object"},
		{"cut off", "claude", "PreToolUse", `{"hook_event_name":"Pre`, "not a JSON object"},
		{"too deep", "claude", "", deep, "not a JSON object"},
		{"two names of one tool", "claude", "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read"}`, `the field "tool_name" has two values`},
		{"too long", "claude", "", `{"x":"` + strings.Repeat("x", codehook.MaxInput) + `"}`, "too long"},
		{"no name", "copilot", "", `{"toolName":"bash"}`, "--event"},
		{"no tool", "claude", "", `{"hook_event_name":"PreToolUse","toolname":"Bash"}`, "the event PreToolUse has no name of a tool"},
		{"a tool that is not a name", "claude", "", `{"hook_event_name":"PostToolUse","tool_name":7}`, "has no name of a tool"},
		{"no prompt", "qwen", "UserPromptSubmit", `{"text":"hello"}`, "the event UserPromptSubmit has no prompt"},
		{"a prompt in parts", "claude", "UserPromptSubmit", `{"prompt":[{"type":"text","text":"hello"}]}`, "has no prompt that is a text"},
		{"a message without parts", "opencode", "", `{"event":"chat.message","input":{"sessionID":"s"},"output":{"text":"hello"}}`, "has no list of parts"},
		{"two values of an argument", "claude", "PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"rm","command":"ls"}}`, `"Bash": the field "command" has two values`},
		{"two values of an argument, in a string", "copilot", "preToolUse", `{"toolName":"bash","toolArgs":" {\"command\":\"rm\",\"command\":\"ls\"}"}`, `"bash": the field "command" has two values`},
		{"two names of an argument", "cursor", "preToolUse", `{"tool_name":"Read","tool_input":{"file_path":"a","path":"b"}}`, "file_path and path mean the same"},
		{"no such agent", "emacs", "", `{}`, "there is no agent"},
	} {
		m, err := codehook.Parse(codehook.Input{Agent: codehook.Agent(c.agent), Event: c.event, Data: []byte(c.data)})
		if m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", c.name, m, err)
		}
	}
	for agent, want := range map[codehook.Agent]string{codehook.Claude: "", codehook.Codex: "", codehook.Gemini: "", codehook.Copilot: "", codehook.Qwen: "",
		codehook.Cursor: "{}\n", codehook.OpenCode: "{}\n"} {
		if got := codehook.NoOpinion(agent); got != (codehook.Answer{Stdout: want}) {
			t.Errorf("%s: no opinion is %+v", agent, got)
		}
	}
}

// TestSilence: no plugin is called about these events.
func TestSilence(t *testing.T) {
	call := func(more string) string {
		return `{"hook_event_name":"PreToolUse","transcript_path":"/t","tool_name":"Bash","tool_input":{"command":"ls"}` + more + `}`
	}
	for _, c := range []struct {
		name    string
		agent   codehook.Agent
		event   string
		data    string
		environ string
		silent  bool
	}{
		{"a call", codehook.Claude, "", call(""), "", false},
		{"of Cursor, by the payload", codehook.Claude, "", call(`,"cursor_version":"1"`), "", true},
		{"of Cursor, by the environment", codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash"}`, "1.0", true},
		{"in a terminal of Cursor", codehook.Claude, "", call(""), "1.0", false},
		{"of Copilot CLI", codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","timestamp":"2026"}`, "", true},
		{"of Copilot CLI, the end of a turn", codehook.Claude, "", `{"hook_event_name":"Stop","transcript_path":"/home/ann/.copilot/x/events.jsonl","timestamp":"2026"}`, "", true},
		{"of Claude Code, with a timestamp", codehook.Claude, "", call(`,"timestamp":"2026"`), "", false},
		{"an empty prompt", codehook.Qwen, "", `{"hook_event_name":"UserPromptSubmit","prompt":"  "}`, "", true},
		{"a title", codehook.OpenCode, "", `{"event":"experimental.chat.system.transform","input":{"sessionID":"s"},"output":{"system":["You are a title generator. You …"]}}`, "", true},
		{"a subagent's session", codehook.OpenCode, "", `{"event":"event","input":{"event":{"type":"session.created","properties":{"info":{"id":"s","parentID":"p"}}}}}`, "", true},
		{"the end of a session without an id", codehook.OpenCode, "", `{"event":"dispose","input":null,"output":null}`, "", true},
		{"a check before each call to the model, which seldom compacts", codehook.Gemini, "", `{"hook_event_name":"PreCompress","trigger":"auto"}`, "", true},
		{"a compaction", codehook.Gemini, "", `{"hook_event_name":"PreCompress","trigger":"manual"}`, "", false},
		{"a piece of a reply without text", codehook.Gemini, "", `{"hook_event_name":"AfterModel","llm_response":{"candidates":[{"content":{"parts":[]}}]}}`, "", true},
		{"no candidates", codehook.Gemini, "", `{"hook_event_name":"AfterModel","llm_response":{"candidates":[]}}`, "", true},
		{"our own denial", codehook.Cursor, "", `{"hook_event_name":"postToolUseFailure","tool_name":"Shell","failure_type":"permission_denied"}`, "", true},
		{"the same call once more", codehook.Cursor, "", `{"hook_event_name":"beforeShellExecution","command":"ls"}`, "", true},
		{"a permission", codehook.Copilot, "", `{"hookName":"permissionRequest","toolName":"bash"}`, "", true},
		{"an unknown event", codehook.Claude, "", `{"hook_event_name":"Tomorrow"}`, "", true},
	} {
		m, err := codehook.Parse(codehook.Input{Agent: c.agent, Event: c.event, Data: []byte(c.data), Environ: map[string]string{"CURSOR_VERSION": c.environ}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		host := newTestBed(t, everywhere(says(hook.Deny, because)))
		r := m.Fire(t.Context(), host)
		if silent := len(host.fired) == 0; silent != c.silent || silent != (len(m.Points()) == 0) {
			t.Errorf("%s: fired %v, points %v", c.name, host.fired, m.Points())
		}
		if c.silent && strings.Contains(r.Answer.Stdout, because) {
			t.Errorf("%s: %+v", c.name, r.Answer)
		}
	}
}

// TestToolsOfOurName: the name of a tool is found if its server has our name. A host must check
// whether that server is ours.
func TestToolsOfOurName(t *testing.T) {
	for _, c := range []struct {
		name  string
		agent codehook.Agent
		data  string
		want  string
	}{
		{"Claude Code", codehook.Claude, `{"hook_event_name":"PreToolUse","tool_name":"mcp__patchbay__words"}`, "words"},
		{"after the call", codehook.Claude, `{"hook_event_name":"PostToolUse","tool_name":"mcp__patchbay__words","tool_response":[]}`, "words"},
		{"a failed call", codehook.Claude, `{"hook_event_name":"PostToolUseFailure","tool_name":"mcp__patchbay__words"}`, "words"},
		{"another server, by its name", codehook.Claude, `{"hook_event_name":"PreToolUse","tool_name":"mcp__patchbay__words","mcp_server":{"name":"other"}}`, ""},
		{"a server whose name begins like ours", codehook.Claude, `{"hook_event_name":"PreToolUse","tool_name":"mcp__patchbay__two__words"}`, "two__words"},
		{"Codex", codehook.Codex, `{"hook_event_name":"PreToolUse","tool_name":"mcp__patchbay__words"}`, "words"},
		{"Qwen Code", codehook.Qwen, `{"hook_event_name":"PreToolUse","tool_name":"mcp__patchbay__words"}`, "words"},
		{"Gemini CLI", codehook.Gemini, `{"hook_event_name":"BeforeTool","tool_name":"mcp_patchbay_a_b","mcp_context":{"server_name":"patchbay","tool_name":"a.b"}}`, "a.b"},
		{"a server whose name begins like ours in Gemini CLI", codehook.Gemini, `{"hook_event_name":"BeforeTool","tool_name":"mcp_patchbay_two_words","mcp_context":{"server_name":"patchbay_two"}}`, ""},
		{"Copilot CLI", codehook.Copilot, `{"hookName":"preToolUse","toolName":"patchbay-words","toolArgs":{}}`, "words"},
		{"OpenCode", codehook.OpenCode, `{"event":"tool.execute.before","input":{"tool":"patchbay_words"}}`, "words"},
		{"Cursor, which does not name the server", codehook.Cursor, `{"hook_event_name":"preToolUse","tool_name":"MCP:words"}`, ""},
		{"another tool", codehook.Claude, `{"hook_event_name":"PreToolUse","tool_name":"Bash"}`, ""},
		{"no tool", codehook.Claude, `{"hook_event_name":"UserPromptSubmit","prompt":"mcp__patchbay__words"}`, ""},
	} {
		m := parse(t, c.agent, "", c.data)
		if got := m.OwnTool(); got != c.want || len(m.Points()) == 0 {
			t.Errorf("%s: %q, points %v", c.name, got, m.Points())
		}
	}
	for shown, want := range map[string]bool{"plugin_a.b": true, "plugin_a_b": true, "plugin_ab": false, "plugin_a": false} {
		if codehook.ShownAs("plugin_a.b", shown) != want {
			t.Errorf("%s: %v", shown, !want)
		}
	}
}

// TestWhatPluginsSee: plugins see one vocabulary, and the agent's names beside it.
func TestWhatPluginsSee(t *testing.T) {
	for _, c := range []struct {
		agent             codehook.Agent
		event, data       string
		tool, hosts, args string
	}{
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"description":"d","command":"ls","timeout":1500}}`, "shell", "Bash", `{"cmd":"ls","timeout":1.5,"description":"d"}`},
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"a","old_string":"x","new_string":"y"}}`, "edit_file", "Edit", `{"path":"a","old":"x","new":"y"}`},
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"NotebookEdit","tool_input":{"notebook_path":"a"}}`, "NotebookEdit", "NotebookEdit", `{"notebook_path":"a"}`},
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"mcp__pb__x","tool_input":{"command":"a"}}`, "mcp__pb__x", "mcp__pb__x", `{"command":"a"}`},
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","cmd":"other","timeout":"soon"}}`, "shell", "Bash", `{"cmd":"ls","timeout":"soon"}`},
		{codehook.Claude, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":[1]}`, "shell", "Bash", `[1]`},
		{codehook.Copilot, "preToolUse", `{"toolName":"bash","toolArgs":"\n{\"command\":\"ls\"}"}`, "shell", "bash", `{"cmd":"ls"}`},
		{codehook.Copilot, "preToolUse", `{"toolName":"bash","toolArgs":"{\"command\":\"ls\",}"}`, "shell", "bash", `"{\"command\":\"ls\",}"`},
		{codehook.Codex, "", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, "shell", "Bash", `{"cmd":"ls"}`},
		{codehook.Gemini, "", `{"hook_event_name":"BeforeTool","tool_name":"replace","tool_input":{"file_path":"a","old_string":"x","new_string":"y","instruction":"i"}}`, "edit_file", "replace", `{"path":"a","old":"x","new":"y","instruction":"i"}`},
		{codehook.Qwen, "", `{"hook_event_name":"PreToolUse","tool_name":"read_file","tool_input":{"file_path":"a","offset":0,"limit":5}}`, "read_file", "read_file", `{"path":"a","offset":1,"limit":5}`},
		{codehook.Copilot, "", `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"path":"a","file_text":"x"}}`, "write_file", "Write", `{"path":"a","content":"x"}`},
		{codehook.Copilot, "preToolUse", `{"toolName":"create","toolArgs":"{\"path\":\"a\",\"file_text\":\"x\"}"}`, "write_file", "create", `{"path":"a","content":"x"}`},
		{codehook.Copilot, "preToolUse", `{"toolName":"view","toolArgs":{"path":"a","view_range":[1,2]}}`, "read_file", "view", `{"path":"a","view_range":[1,2]}`},
		{codehook.Cursor, "", `{"hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"ls","cwd":"/w","timeout":10000}}`, "shell", "Shell", `{"cmd":"ls","timeout":10,"cwd":"/w"}`},
		{codehook.OpenCode, "", `{"event":"tool.execute.before","input":{"tool":"edit"},"output":{"args":{"filePath":"a","oldString":"x","newString":"y","replaceAll":true}}}`, "edit_file", "edit", `{"path":"a","old":"x","new":"y","all":true}`},
	} {
		host := newTestBed(t, map[hook.Point]plays{hook.ToolBefore: set()})
		parse(t, c.agent, c.event, c.data).Fire(t.Context(), host)
		seen := host.seen(t, hook.ToolBefore)
		got := []string{text(seen, "tool"), text(seen, "host_tool"), string(seen.Get("arguments")), text(seen, "host")}
		if want := []string{c.tool, c.hosts, c.args, string(c.agent)}; !slices.Equal(got, want) {
			t.Errorf("%s %s:\ngot  %q\nwant %q", c.agent, c.hosts, got, want)
		}
	}
}

func text(o rawjson.Object, name string) string { s, _ := o.String(name); return s }

// TestRewrittenInput: a plugin's arguments are translated to the agent's names, and fields that the
// plugin could not know are kept.
func TestRewrittenInput(t *testing.T) {
	for _, c := range []struct{ name, input, args, want string }{
		{"new arguments", `{"command":"ls","description":"d","timeout":5000,"run_in_background":true}`, `{"cmd":"pwd"}`, `{"command":"pwd","description":"d","run_in_background":true}`},
		{"seconds become milliseconds", `{"command":"ls","timeout":5000}`, `{"cmd":"ls","timeout":1.25}`, `{"command":"ls","timeout":1250}`},
		{"a number that stays keeps its spelling", `{"command":"ls","timeout":5.0e3}`, `{"cmd":"pwd","timeout":5}`, `{"command":"pwd","timeout":5.0e3}`},
		{"whole milliseconds", `{"command":"ls","timeout":5000}`, `{"cmd":"ls","timeout":0.0016}`, `{"command":"ls","timeout":2}`},
		{"an argument of ours is added", `{"command":"ls"}`, `{"cmd":"ls","timeout":2}`, `{"command":"ls","timeout":2000}`},
		{"an unknown argument is added", `{"command":"ls"}`, `{"cmd":"ls","other":[1]}`, `{"command":"ls","other":[1]}`},
		{"the agent's own field is changed", `{"command":"ls","description":"d"}`, `{"cmd":"ls","description":"e"}`, `{"command":"ls","description":"e"}`},
		{"half a surrogate pair stays", `{"command":"ls","description":"\u0064\ud83d"}`, `{"cmd":"pwd"}`, `{"command":"pwd","description":"d\ud83d"}`},
		{"a field with the name of one of ours", `{"command":"ls","cmd":"hidden"}`, `{"cmd":"pwd"}`, `{"command":"pwd","cmd":"hidden"}`},
	} {
		data := fmt.Sprintf(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":%s}`, c.input)
		r := parse(t, codehook.Claude, "", data).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.ToolBefore: set("arguments", c.args)}))
		want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":` + c.want + "}}\n"
		if r.Answer.Stdout != want {
			t.Errorf("%s:\ngot  %swant %s", c.name, r.Answer.Stdout, want)
		}
	}
}

// TestInvalidArgumentsAreDenied: a call is denied if a plugin leaves invalid arguments.
func TestInvalidArgumentsAreDenied(t *testing.T) {
	for _, s := range samples(t, filepath.Join("testdata", "events")) {
		for _, args := range []string{`"text"`, `null`, `[1]`, `7`} {
			if s.what != "call" {
				continue
			}
			r := s.parse(t).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.ToolBefore: set("arguments", args)}))
			if v := s.judge(t, r.Answer); !isDenied("guard")(v) {
				t.Errorf("%s, %s: %+v", s.name, args, r.Answer)
			}
		}
	}
}

// TestContextForCopilotIsCut: context is cut to the size that Copilot CLI accepts, at the end of a
// character, with a note.
func TestContextForCopilotIsCut(t *testing.T) {
	data := `{"hook_event_name":"SessionStart"}`
	r := parse(t, codehook.Copilot, "", data).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.SessionStart: set("inject", `"`+strings.Repeat("ä", 9000)+`"`)}))
	o, err := one(r.Answer.Stdout)
	got, _ := o["additionalContext"].(string)
	if err != nil || len(got) > 10_000 || len(got) < 9_900 || !strings.HasSuffix(got, "ä\n… (cut)") {
		t.Errorf("%d bytes, ending in %q (%v)", len(got), got[max(0, len(got)-20):], err)
	}
}

// TestChangesThatCursorIgnoresAreDenied: a change that Cursor would ignore is denied.
func TestChangesThatCursorIgnoresAreDenied(t *testing.T) {
	for _, c := range []struct {
		tool, input, args string
		runs              bool
	}{
		{"Shell", `{"command":"ls","cwd":"/w","timeout":1000}`, `{"cmd":"pwd","timeout":1}`, true},
		{"Shell", `{"command":"ls","cwd":"/w","timeout":1000}`, `{"cmd":"pwd"}`, true}, // the old timeout stays
		{"Write", `{"file_path":"a","content":"x"}`, `{"path":"b","content":"x"}`, true},
		{"Write", `{"file_path":"a","content":"x"}`, `{"path":"a","content":"y"}`, false},
		{"Sesame", `{"a":1}`, `{"a":2}`, false},
		{"MCP:x", `{"a":1}`, `{"a":2,"b":3}`, true},
		{"MCP:x", `{"a":1,"b":2}`, `{"a":1}`, true}, // fields without a counterpart are kept: nothing changed
	} {
		data := fmt.Sprintf(`{"hook_event_name":"preToolUse","tool_name":%q,"tool_input":%s}`, c.tool, c.input)
		r := parse(t, codehook.Cursor, "", data).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.ToolBefore: set("arguments", c.args)}))
		if denied := strings.Contains(r.Answer.Stdout, `"permission":"deny"`); denied == c.runs {
			t.Errorf("%s %s: %+v", c.tool, c.args, r.Answer)
		}
	}
}

// TestCodexNeedsACommand: an input that Codex would reject is denied.
func TestCodexNeedsACommand(t *testing.T) {
	data := `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`
	for _, args := range []string{`{}`, `{"cmd":["ls"]}`, `{"cmd":null}`} {
		r := parse(t, codehook.Codex, "", data).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.ToolBefore: set("arguments", args)}))
		if !strings.Contains(r.Answer.Stdout, `"permissionDecision":"deny"`) {
			t.Errorf("%s: %+v", args, r.Answer)
		}
	}
}

// TestTheEndIsRefusedOnce: an agent that was made to go on once is not made to do so again.
func TestTheEndIsRefusedOnce(t *testing.T) {
	data := `{"hook_event_name":"Stop","stop_hook_active":%v,"last_assistant_message":"done"}`
	for active, want := range map[bool]string{false: "{\"decision\":\"block\",\"reason\":\"refused by plugin guard: no\"}\n", true: ""} {
		r := parse(t, codehook.Claude, "", fmt.Sprintf(data, active)).Fire(t.Context(), newTestBed(t, map[hook.Point]plays{hook.TurnFinal: says(hook.Deny, "no")}))
		if r.Answer.Stdout != want || active == (len(r.Notes) == 0) {
			t.Errorf("%v: %+v, %q", active, r.Answer, r.Notes)
		}
	}
}

// TestHowATurnEnded: turn.done has the answer of the turn, and why it failed.
func TestHowATurnEnded(t *testing.T) {
	for _, c := range []struct {
		agent             codehook.Agent
		data, text, fault string
	}{
		{codehook.Claude, `{"hook_event_name":"Stop","last_assistant_message":"done"}`, `"done"`, "null"},
		{codehook.Claude, `{"hook_event_name":"StopFailure","error":"rate_limit"}`, `""`, `"rate_limit"`},
		{codehook.Cursor, `{"hook_event_name":"stop","status":"completed"}`, `""`, "null"},
		{codehook.Cursor, `{"hook_event_name":"stop","status":"aborted"}`, `""`, `"aborted"`},
		{codehook.Copilot, `{"hook_event_name":"Stop","stop_reason":"end_turn"}`, `""`, "null"},
	} {
		host := newTestBed(t, map[hook.Point]plays{hook.TurnDone: set()})
		parse(t, c.agent, "", c.data).Fire(t.Context(), host)
		seen := host.seen(t, hook.TurnDone)
		if text, fault := string(seen.Get("text")), string(seen.Get("error")); text != c.text || fault != c.fault {
			t.Errorf("%s: text %s, error %s", c.data, text, fault)
		}
	}
}

// TestResultsAsPluginsSeeThem: the text of a result, and whether the call succeeded, are read from
// each agent's form.
func TestResultsAsPluginsSeeThem(t *testing.T) {
	for _, c := range []struct {
		agent              codehook.Agent
		event, data        string
		text, success, err string
	}{
		{codehook.Claude, "", `{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":{"stdout":"a","stderr":"b"}}`, "a\nb", "true", "null"},
		{codehook.Claude, "", `{"hook_event_name":"PostToolUse","tool_name":"Write","tool_response":{"type":"create"}}`, `{"type":"create"}`, "true", "null"},
		{codehook.Claude, "", `{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":[{"type":"text","text":"x"},{"type":"image"},{"type":"text","text":"y"}]}`, "x\ny", "true", "null"},
		{codehook.Claude, "", `{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","error":"gone"}`, "gone", "false", `"gone"`},
		{codehook.Codex, "", `{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":"out"}`, "out", "true", "null"},
		{codehook.Codex, "", `{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":{"content":[{"type":"text","text":"x"}],"isError":true}}`, "x", "false", "null"},
		{codehook.Gemini, "", `{"hook_event_name":"AfterTool","tool_name":"x","tool_response":{"llmContent":"a","error":{"message":"m"}}}`, "a", "false", `"m"`},
		{codehook.Gemini, "", `{"hook_event_name":"AfterTool","tool_name":"x","tool_response":{"llmContent":[{"text":"a"},{"text":"b"}]}}`, "a\nb", "true", "null"},
		{codehook.Copilot, "postToolUse", `{"toolName":"view","toolResult":{"resultType":"failure","textResultForLlm":"no"}}`, "no", "false", `"failure"`},
		{codehook.Cursor, "", `{"hook_event_name":"postToolUse","tool_name":"Shell","tool_output":"{\"output\":\"o\",\"exitCode\":2}"}`, "o", "false", `"exit status 2"`},
		{codehook.Cursor, "", `{"hook_event_name":"postToolUse","tool_name":"Read","tool_output":"plain"}`, "plain", "true", "null"},
		{codehook.OpenCode, "", `{"event":"tool.execute.after","input":{"tool":"bash"},"output":{"output":"o","metadata":{"exit":1}}}`, "o", "false", `"exit status 1"`},
		// A server chooses what its answer has besides its text.
		{codehook.Claude, "", `{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":[{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"u","text":"y"}},{"type":"resource_link","uri":"z"}]}`,
			"x\ny\n{\"type\":\"resource_link\",\"uri\":\"z\"}", "true", "null"},
		{codehook.Claude, "", `{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":{"content":[{"type":"text","text":"x"}],"structuredContent":{"y":1}}}`, "x\n{\"y\":1}", "true", "null"},
		{codehook.Codex, "", `{"hook_event_name":"PostToolUse","tool_name":"mcp__a__b","tool_response":{"content":[{"type":"text","text":"{ \"y\": 1 }"}],"structuredContent":{"y":1}}}`, `{ "y": 1 }`, "true", "null"},
		{codehook.Cursor, "", `{"hook_event_name":"postToolUse","tool_name":"MCP:b","tool_output":"{\"content\":[{\"text\":\"x\"}],\"structuredContent\":[1]}"}`, "x\n[1]", "true", "null"},
		{codehook.OpenCode, "", `{"event":"tool.execute.after","input":{"tool":"a_b"},"output":{"content":[{"type":"text","text":"x"}],"output":"y"}}`, "x", "true", "null"},
		{codehook.OpenCode, "", `{"event":"tool.execute.after","input":{"tool":"a_b"},"output":{"content":[{"type":"text","text":"x"}],"tool":"patchbay_b"}}`, "x", "true", "null"},
		{codehook.OpenCode, "", `{"event":"tool.execute.after","input":{"tool":"a_b"},"output":{"content":[{"type":"text","text":"x"}],"failure_type":"permission_denied"}}`, "x", "true", "null"},
		{codehook.OpenCode, "", `{"event":"tool.execute.after","input":{"tool":"a_b"},"output":{"content":[{"type":"text","text":"x"}],"mcp_server":{"name":"patchbay"}}}`, "x", "true", "null"},
	} {
		host := newTestBed(t, map[hook.Point]plays{hook.ToolAfter: set()})
		r := parse(t, c.agent, c.event, c.data).Fire(t.Context(), host)
		seen := host.seen(t, hook.ToolAfter)
		got := []string{text(seen, "result"), string(seen.Get("success")), string(seen.Get("error"))}
		if want := []string{c.text, c.success, c.err}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.data, got, want)
		}
		if strings.Contains(r.Answer.Stdout, "o\"") {
			t.Errorf("%s: %+v", c.data, r.Answer)
		}
	}
}

// TestARemovedErrorStaysAway: plugins of most protocols see only the text of a failed call. What
// they removed from it must not come back as the error.
func TestARemovedErrorStaysAway(t *testing.T) {
	data := `{"hook_event_name":"AfterTool","tool_name":"x","tool_response":{"llmContent":"Error: no password in /srv","error":{"message":"no password in /srv"}}}`
	host := newTestBed(t, map[hook.Point]plays{hook.ToolAfter: set("result", `"Error: (hidden)"`)})
	r := parse(t, codehook.Gemini, "", data).Fire(t.Context(), host)
	if !strings.Contains(r.Answer.Stdout, "Error: (hidden)") || strings.Contains(r.Answer.Stdout, "password") {
		t.Errorf("%+v", r.Answer)
	}
}

// TestEvents: each event that install registers is understood, fires a point, and leaves time to
// answer.
func TestEvents(t *testing.T) {
	for _, agent := range codehook.Agents() {
		specs := codehook.Events(agent)
		if len(specs) < 8 {
			t.Errorf("%s: %d events", agent, len(specs))
		}
		for _, s := range specs {
			if len(s.Points) == 0 || s.Deadline() >= s.Timeout || s.Deadline() <= 0 {
				t.Errorf("%s: %+v, deadline %v", agent, s, s.Deadline())
			}
		}
		if agent.Title() == "" {
			t.Errorf("%s has no title", agent)
		}
	}
}
