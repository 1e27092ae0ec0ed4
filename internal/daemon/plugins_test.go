package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// kagedHome returns a testHome with a kaged plugin. It has knobs, a method, a notification, a tool
// that returns its _context, and a tool that crashes.
func kagedHome(t *testing.T) testHome {
	plugtest.NeedTool(t, "sh")
	h := newTestHome(t)
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n")
	h.write(".local/share/kaged/plugins/notes/manifest.yaml", `name: notes
version: 1.0.0
kaged_api: 1
description: tells its config
command: [sh, run.sh]
methods: [notes.config, notes.refuse]
notifications: [notes.asked]
hooks: [on_session_start]
config_schema: {type: object, properties: {level: {type: integer}}}
knobs: {level: {type: int_range, label: Level, min: 0, max: 9, default: 1, binds_to: config.level}}
tools:
  - {name: crash, description: ends the plugin, parameters_schema: {type: object}}
  - {name: where, description: tells its _context, parameters_schema: {type: object, properties: {loud: {type: boolean}, times: {type: integer, minimum: 1}}}}
`)
	h.write(".local/share/kaged/plugins/notes/run.sh", `while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case "$line" in
  *'"method":"initialized"'*) continue ;;
  *'"method":"initialize"'*)
    conf=${line#*'"config":'}; conf=${conf%%',"system_config"'*}
    result='{"name":"notes","version":"1.0.0","api_version":1,"methods":["notes.config","notes.refuse"],"notifications":["notes.asked"],"capabilities_used":[]}' ;;
  *'"method":"notes.config"'*) printf '{"jsonrpc":"2.0","method":"notes.asked","params":{"n":1}}\n'; result="$conf" ;;
  *'"method":"notes.refuse"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"I would rather not"}}\n' "$id"; continue ;;
  *'"method":"notes.where"'*) result="{${line#*'"params":{'}"; result=${result%\}} ;;
  *'"method":"kaged.hook.on_session_start"'*) printf '%s\n' "$line" > started.json; result=null ;;
  *'"method":"notes.crash"'*) echo 'out of ink' >&2; exit 3 ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`)
	return h
}

func TestAPluginsMethodsOverHTTP(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	for _, tc := range []struct {
		rule, path, body string
		status           int
		says             string
	}{
		{"a method answers", "/v1/plugins/notes/call", `{"method":"notes.config"}`, 200, `{"plugin":"notes","method":"notes.config","result":{"level":1},"error":null}`},
		{"params are an object", "/v1/plugins/notes/call", `{"method":"notes.config","params":[1]}`, 422, "params"},
		{"a method that is not declared", "/v1/plugins/notes/call", `{"method":"notes.nope"}`, 404, "Method not found: notes.nope; it has notes."},
		{"an unknown plugin", "/v1/plugins/nope/call", `{"method":"a.b"}`, 404, "Plugin not found: nope"},
		{"an error of the plugin's", "/v1/plugins/notes/call", `{"method":"notes.refuse"}`, 502, "I would rather not"},
	} {
		got := s.do("POST", tc.path, tc.body)
		if got.status != tc.status || !strings.Contains(got.body, tc.says) {
			t.Errorf("%s: %d %s", tc.rule, got.status, got.body)
		}
	}
}

// TestACrashDuringAToolCallNamesThePlugin checks that the daemon stays healthy and names the plugin
// that crashed.
func TestACrashDuringAToolCallNamesThePlugin(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	got := s.do("POST", "/v1/tools/notes.where/call", `{"arguments":{}}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"success":true`) || !strings.Contains(got.body, `"error":null`) {
		t.Errorf("a call that succeeds: %d %s", got.status, got.body)
	}
	got = s.do("POST", "/v1/tools/notes.crash/call", `{"arguments":{}}`)
	if got.status != http.StatusBadGateway || !strings.Contains(got.body, "plugin notes") || !strings.Contains(got.body, "out of ink") {
		t.Errorf("a crash: %d %s", got.status, got.body)
	}
}

// TestATracedToolCallOverHTTP checks that an answer with trace has the plugin's step, even if the
// plugin did not answer. Without trace, the answer has no step.
func TestATracedToolCallOverHTTP(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	call := func(tool, body string) (r httpapi.ToolResult) {
		t.Helper()
		got := s.do("POST", "/v1/tools/"+tool+"/call", body)
		if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return r
	}
	if r := call("notes.where", `{"arguments":{"loud":true}}`); !r.Success || r.Step != nil {
		t.Errorf("without trace: %+v", r)
	}
	r := call("notes.where", `{"arguments":{"loud":true},"trace":true}`)
	if !r.Success || r.Step == nil || r.Step.Plugin != "notes" || r.Step.Dialect != "kaged" || r.Step.Hook != "notes.where" || r.Step.DurationUS <= 0 || r.Step.Error != nil {
		t.Fatalf("a call that succeeds: %+v, %+v", r, r.Step)
	}
	for what, text := range map[string]json.RawMessage{"sent": r.Step.Sent, "received": r.Step.Received} { // the plugin answers with its params
		if !strings.Contains(string(text), `"loud":true`) || !strings.Contains(string(text), `"_context"`) {
			t.Errorf("%s: %s", what, text)
		}
	}
	r = call("notes.crash", `{"arguments":{},"trace":true}`)
	if r.Success || r.Error == nil || !strings.Contains(*r.Error, "out of ink") || r.Step == nil || r.Step.ErrorKind != "crash" || *r.Step.Error != *r.Error || len(r.Step.Sent) == 0 {
		t.Errorf("a crash: %+v, %+v", r, r.Step)
	}
	if got := s.do("POST", "/v1/tools/notes.nope/call", `{"trace":true}`); got.status != http.StatusNotFound {
		t.Errorf("an unknown tool: %d %s", got.status, got.body)
	}
}

// TestArgumentsOverHTTP sends arguments that do not fit a tool's schema, by hand and as an MCP
// client. The tool must not be called.
func TestArgumentsOverHTTP(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	for _, c := range []struct {
		rule, args string
		status     int
		says       string
	}{
		{"valid arguments", `{"loud":true,"times":2}`, http.StatusOK, `"success":true`},
		{"an argument of another type", `{"loud":"yes"}`, http.StatusBadRequest, "Tool notes.where does not take these arguments: loud"},
		{"one out of its range, and one that it does not have", `{"times":0,"luod":true}`, http.StatusBadRequest, `it has no argument \"luod\": did you mean loud?`},
	} {
		got := s.do("POST", "/v1/tools/notes.where/call", `{"arguments":`+c.args+`}`)
		if got.status != c.status || !strings.Contains(got.body, c.says) {
			t.Errorf("%s: %d %s", c.rule, got.status, got.body)
		}
	}
	r, err := s.mcpClient(nil).CallTool(t.Context(), &sdk.CallToolParams{Name: "notes.where", Arguments: map[string]any{"loud": "yes"}})
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, "the arguments do not fit: arguments.loud") {
		t.Errorf("an MCP client: %+v, %v", r, err)
	}
}

// TestANotificationIsAnEvent checks that a notification is an event on /v1/events, and that the
// plugin's facts count and list it.
func TestANotificationIsAnEvent(t *testing.T) {
	s := kagedHome(t).serve("", Limits{})
	if got := s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	resp, err := s.client.Get("http://" + s.addr + "/v1/events?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	kind := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind == "plugin.notification" {
			if !strings.Contains(data, `"plugin":"notes"`) || !strings.Contains(data, `"method":"notes.asked"`) || !strings.Contains(data, `"params":{"n":1}`) {
				t.Errorf("the event is %s", data)
			}
			break
		}
	}
	if kind != "plugin.notification" {
		t.Errorf("the last event was %q", kind)
	}
	if got := s.do("GET", "/v1/plugins/notes", ""); !strings.Contains(got.body, `"notifications":1`) || !strings.Contains(got.body, `"method":"notes.asked"`) {
		t.Errorf("plugin info: %s", got.body)
	}
}

func TestKnobsOverHTTP(t *testing.T) {
	h := kagedHome(t)
	s := h.serve("", Limits{})
	got := s.do("PUT", "/v1/plugins/notes/knobs/level", `{"value":7}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"restarted":true`) || !strings.Contains(got.body, `"value":7`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if text, err := os.ReadFile(filepath.Join(h.home, ".config/patchbay/config.toml")); err != nil || string(text) != "sandbox = \"off\"\n\n[plugins.notes.config]\nlevel = 7\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if got := s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`); !strings.Contains(got.body, `"result":{"level":7}`) {
		t.Errorf("the plugin works with %s", got.body)
	}
	if got := s.do("PUT", "/v1/plugins/notes/knobs/level", `{"value":null}`); got.status != http.StatusOK || !strings.Contains(got.body, `"value":1,"source":"default"`) {
		t.Errorf("back to the default: %d %s", got.status, got.body)
	}
	for path, says := range map[string]string{"/v1/plugins/notes/knobs/level": "must be from 0 to 9", "/v1/plugins/notes/knobs/nope": "Knob not found: nope",
		"/v1/plugins/nope/knobs/level": "Plugin not found: nope"} {
		if got := s.do("PUT", path, `{"value":10}`); got.status/100 != 4 || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[plugins.notes]\nconfig = { level = 3 }\n")
	if got := s.do("POST", "/v1/plugins/notes/reload", ``); got.status != http.StatusOK || !strings.Contains(got.body, `"restarted":true`) {
		t.Errorf("reload: %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/plugins/notes", ""); !strings.Contains(got.body, `"value":3,"source":"user"`) {
		t.Errorf("plugin info: %s", got.body)
	}
	if err := os.Chmod(h.write(".local/scaffold/plugins/ends", "#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.do("POST", "/v1/reload", "")
	if got := s.do("POST", "/v1/plugins/ends/reload", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "plugin ends still does not work: ") {
		t.Errorf("a plugin that does not start: %d %s", got.status, got.body)
	}
	file := h.write(".config/patchbay/config.toml", "sandbox = \"off\"\nx = = 3\n")
	if got := s.do("PUT", "/v1/plugins/notes/knobs/level", `{"value":4}`); got.status != http.StatusServiceUnavailable || strings.Count(got.body, file) != 1 || !strings.Contains(got.body, file+":2:5: ") {
		t.Errorf("a file with an error: %d %s", got.status, got.body)
	}
}

// TestASessionsProject checks that the hooks' _context names the project of a session that works in
// another project than the daemon.
func TestASessionsProject(t *testing.T) {
	h := kagedHome(t)
	s := h.serve("", Limits{})
	project := filepath.Dir(h.write("work/garden/.git/HEAD", "ref: refs/heads/main\n"))
	project = filepath.Dir(project)
	var made struct{ ID string }
	body, _ := json.Marshal(map[string]string{"working_dir": project})
	if err := json.Unmarshal([]byte(s.do("POST", "/session", string(body)).body), &made); err != nil {
		t.Fatal(err)
	}
	if got := s.do("POST", "/session/"+made.ID+"/message", `{"text":"hello"}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	text, err := os.ReadFile(filepath.Join(h.home, ".local/share/kaged/plugins/notes/started.json"))
	var call struct {
		Params struct {
			Root    string            `json:"project_root"`
			Context map[string]string `json:"_context"`
		}
	}
	if err != nil || json.Unmarshal(text, &call) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if c := call.Params.Context; call.Params.Root != project || c["project_root"] != project || c["project_id"] != "garden" || c["session_id"] != made.ID {
		t.Errorf("on_session_start was told %s", text)
	}
}

// TestTheDaemonsCounters checks that a command can ask for the daemon's state of a plugin, which is
// not that of its own process.
func TestTheDaemonsCounters(t *testing.T) {
	h := kagedHome(t)
	dirs, err := config.Locate(dialect.Env{Vars: h.options().Host.Environ}.Get, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AskPlugin(t.Context(), dirs, "notes"); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	s := h.serve("", Limits{})
	s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`)
	p, err := AskPlugin(t.Context(), dirs, "notes")
	if err != nil || p == nil || p.Counters.Calls != 1 || p.Pid == nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := AskPlugin(t.Context(), dirs, "nobody"); p != nil || err != nil {
		t.Errorf("a plugin that it does not have: %+v, %v", p, err)
	}
}

// TestACommandReachesTheDaemon checks that the daemon restarts a plugin after `plugin knob` has
// written the file.
func TestACommandReachesTheDaemon(t *testing.T) {
	h := kagedHome(t)
	dirs, err := config.Locate(dialect.Env{Vars: h.options().Host.Environ}.Get, runtime.GOOS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReloadPlugin(t.Context(), dirs, "notes"); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	s := h.serve("", Limits{})
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[plugins.notes]\nconfig = { level = 3 }\n")
	if restarted, err := ReloadPlugin(t.Context(), dirs, "notes"); err != nil || !restarted {
		t.Errorf("restarted %v, %v", restarted, err)
	}
	if got := s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`); !strings.Contains(got.body, `"result":{"level":3}`) {
		t.Errorf("the plugin works with %s", got.body)
	}
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[plugins.notes]\nconfig = { level = 10 }\n")
	if restarted, err := ReloadPlugin(t.Context(), dirs, "notes"); restarted || err == nil || !strings.Contains(err.Error(), "config.toml:3:") {
		t.Errorf("a config that does not fit: restarted %v, %v", restarted, err)
	}
}

// TestANameOfTwoPlugins: a name that plugins of two dialects have is an error of the client, and
// the answer says how to write the name.
func TestANameOfTwoPlugins(t *testing.T) {
	h := kagedHome(t)
	h.plugin("notes", "sink")
	s := h.serve("", Limits{})
	for _, c := range []struct{ method, route, body string }{
		{"GET", "/v1/plugins/notes", ""},
		{"POST", "/v1/plugins/notes/reload", ""},
		{"POST", "/v1/plugins/notes/restart", ""},
		{"PUT", "/v1/plugins/notes/knobs/shown", `{"value":5}`},
	} {
		if got := s.do(c.method, c.route, c.body); got.status != 400 || !strings.Contains(got.body, "write kaged:notes or dotagent:notes") && !strings.Contains(got.body, "write dotagent:notes or kaged:notes") {
			t.Errorf("%s %s: %d %s", c.method, c.route, got.status, got.body)
		}
	}
}
