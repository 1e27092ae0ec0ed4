package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// The plugins of the session: one changes a shell command and signs the answer, the other counts
// calls.
const (
	signPlugin = `"""Signs what it has seen."""
__plugin__ = {"name": "sign", "api": "1.0", "mark": "~"}

@on_final
async def final(ctx, text):
    return text + " ~ " + ctx.session_id + " " + str(ctx.state.get("calls", 0))

@on_tool_call
async def call(ctx, call):
    print("about to run", call.tool_name)
    if "bell" in call.input.get("cmd", ""):
        return ToolCall(call.tool_name, call.tool_call_id, {"cmd": "echo quiet hours"})
`
	countPlugin = `@on_tool_call
async def call(ctx, call):
    ctx.state["calls"] = ctx.state.get("calls", 0) + 1
`
)

// sessionScript makes the offline model call a tool with a command that the plugin changes.
const sessionScript = `
- tools: [{name: shell, arguments: {cmd: "echo ring the bell"}}]
- text: It is late.
`

// An exchange is one request and its answer.
type exchange struct {
	request, body string
	status        int
	want          string // ID is the session's id, TIME any time, … at the end any text
}

// exchanges lists all requests about python plugins, from the feature flag to a turn that they
// change.
func exchanges(t *testing.T, home string) []exchange {
	file := func(name string) string { return `"` + home + "/.agent/plugins/" + name + `.py"` }
	source := func(name, content string) string {
		return jsonOf(t, map[string]string{"name": name, "content": content})
	}
	const (
		signed  = `"hooks":["on_tool_call","on_final"],"metadata":{"api":"1.0","name":"sign","mark":"~"}`
		counted = `"hooks":["on_tool_call"],"metadata":{"api":"1.0","name":"count"}`
	)
	made := func(plugins string) string {
		return `{"id":"ID","plugins":` + plugins + `,"working_dir":"` + home + `","created_at":"TIME","title":"`
	}
	return []exchange{
		{"POST /plugin/save", source("sign", signPlugin), 503, `{"detail":"Plugins feature is not enabled. Enable it in settings."}`},
		{"GET /plugin/list", "", 200, `{"plugins":[],"feature_enabled":false}`},
		{"POST /feature/plugins/enable", "", 200, `{"name":"plugins","description":"Enable plugin system for agent customization",` +
			`"stage":"experimental","default":false,"enabled":true}`},
		{"POST /plugin/validate", source("sign", signPlugin), 200, `{"name":"sign",` + signed + `}`},
		{"POST /plugin/validate", source("bad", "async def final(ctx"), 400, `{"detail":"Invalid plugin code: SyntaxError: …`},
		{"POST /plugin/save", source("sign", signPlugin), 200, `{"name":"sign","path":` + file("sign") + `}`},
		{"POST /plugin/save", source("count", countPlugin), 200, `{"name":"count","path":` + file("count") + `}`},
		{"GET /plugin/list", "", 200, `{"plugins":[{"name":"count",` + counted + `,"error":null},{"name":"sign",` + signed + `,"error":null}],"feature_enabled":true}`},
		{"GET /plugin/sign", "", 200, `{"name":"sign","path":` + file("sign") + `,` + signed + `,"content":` + jsonOf(t, signPlugin) + `}`},
		{"POST /plugin/sign/reload", "", 200, `{"name":"sign",` + signed + `}`},
		{"POST /session", `{"plugins":["count","sign"],"working_dir":` + jsonOf(t, home) + `}`, 200, made(`["count","sign"]`) + `"}`},
		{"POST /session/ID/message", `{"text":"ring it"}`, 200, `…`}, // checked below
		{"PATCH /session/ID", `{"plugins":["sign"]}`, 200, made(`["sign"]`) + `…`},
		{"DELETE /plugin/count", "", 200, `{"deleted":"count"}`},
		{"GET /plugin/count", "", 404, `{"detail":"Plugin not found: count"}`},
	}
}

// TestPluginsOfASession sends all these requests to a real daemon, and compares the answers byte
// for byte.
func TestPluginsOfASession(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "python3")
	home := t.TempDir()
	write(t, home, "script.yaml", sessionScript)
	s := serve(t, home, "--script", "script.yaml")
	var id string
	for _, e := range exchanges(t, home) {
		method, path, _ := strings.Cut(strings.ReplaceAll(e.request, "ID", id), " ")
		var answer json.RawMessage
		status := s.call(method, path, e.body, &answer)
		switch e.request {
		case "POST /session":
			id = idOf(t, answer)
		case "POST /session/ID/message":
			s.signed(answer, id)
		}
		if got := plain(string(answer), id); status != e.status || !answers(e.want, got) {
			t.Errorf("%s: %d\n%s, want %d\n%s", e.request, status, got, e.status, e.want)
		}
	}
	s.stop()
	if !strings.Contains(s.log.String(), "about to run shell") {
		t.Errorf("the log lacks what the plugin printed:\n%s", s.log)
	}
}

func answers(want, got string) bool {
	beginning, open := strings.CutSuffix(want, "…")
	return got == want || open && strings.HasPrefix(got, beginning)
}

func idOf(t *testing.T, answer json.RawMessage) string {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal(answer, &made); err != nil || made.ID == "" {
		t.Fatalf("%v: %s", err, answer)
	}
	return made.ID
}

var aTime = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]+Z"`)

// plain returns an answer without the parts that differ from run to run.
func plain(answer, id string) string {
	if id != "" {
		answer = strings.ReplaceAll(answer, id, "ID")
	}
	return aTime.ReplaceAllString(answer, `"TIME"`)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// signed checks the answer of a turn: the tool ran with the command that one plugin rewrote, and
// the text shows that the other plugin was called first.
func (s *server) signed(answer json.RawMessage, id string) {
	s.t.Helper()
	var made turn
	if err := json.Unmarshal(answer, &made); err != nil {
		s.t.Fatalf("%v: %s", err, answer)
	}
	if want := "It is late. ~ " + id + " 1"; made.Text != want || len(made.Tools) != 1 || !strings.Contains(made.Tools[0].Result, "quiet hours") {
		s.t.Errorf("%s, want the text %q and the tool's result", answer, want)
	}
}
