package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// A conversation compares each answer of a daemon with its description.
type conversation struct {
	*served
	doc   *describedAPI
	asked map[string]bool // the operations that have answered, as METHOD PATH
}

// ask makes a request. The path is that of the operation with the values in place of its
// parameters; the rest after ? is the query. It returns the answer.
func (c *conversation) ask(method, operation, body string, values ...string) any {
	c.t.Helper()
	at, query, _ := strings.Cut(operation, "?")
	parts := strings.Split(at, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") && len(values) > 0 {
			parts[i], values = values[0], values[1:]
		}
	}
	got := c.do(method, strings.Join(parts, "/")+"?"+query, body)
	described := c.doc.Paths[at][strings.ToLower(method)].Responses["200"].Content["application/json"].Schema
	var v any
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.status != http.StatusOK || described == nil {
		c.t.Fatalf("%s %s: %d %.200s, described as %v", method, operation, got.status, got.body, described)
	}
	c.asked[method+" "+at] = true
	for _, misfit := range c.doc.misfits(method+" "+at, v, described) {
		c.t.Error(misfit)
	}
	return v
}

// field returns the text of a field of an object.
func field(v any, name string) string {
	object, _ := v.(map[string]any)
	text, _ := object[name].(string)
	return text
}

// list returns a list, or the first list of an object.
func list(v any) []any {
	if object, ok := v.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if items, ok := object[name].([]any); ok {
				return items
			}
		}
	}
	items, _ := v.([]any)
	return items
}

// TestAnswersAreDescribed compares answers of a daemon in use with the document: every field is
// described, and every field that must be there is there. It asks for everything that can be read,
// and does most of what can be done.
func TestAnswersAreDescribed(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := kagedHome(t)
	h.write(".agent/plugins/sign.py", stamp("sign"))
	h.write(".local/share/kaged/plugins/torn/manifest.yaml", "name: torn\nvresion: 1.0.0\n")
	h.write(".config/patchbay/config.toml", "sandbox = \"off\"\n[[connect]]\nplugin = \"notes\"\nhook = \"on_session_start\"\npoint = \"prompt.context\"\n")
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter)
	h.write(".config/patchbay/agents/broken/agent.toml", "[agent]\nnam = 1\n")
	s := h.serve(`[{tools: [{name: list_files, arguments: {}}, {name: nothing, arguments: {}}]}, {text: hello}]`, Limits{})
	c := &conversation{s, new(describedAPI), map[string]bool{}}
	if err := json.Unmarshal([]byte(s.do("GET", "/openapi.json", "").body), c.doc); err != nil {
		t.Fatal(err)
	}
	c.sources()
	c.plugins()
	c.runs()
	c.turns()
	c.ask("GET", "/v1/jobs", "")
	for _, p := range list(c.ask("GET", "/v1/plugins", "")) {
		c.ask("GET", "/v1/plugins/{name}", "", field(p, "dialect")+":"+field(p, "name"))
	}
	for path, methods := range c.doc.Paths {
		_, reads := methods["get"]
		switch {
		case !reads || c.asked["GET "+path] || methods["get"].Responses["200"].Content["application/json"].Schema == nil:
		case strings.Contains(path, "{"):
			t.Errorf("this test does not ask for %s", path)
		default:
			c.ask("GET", path, "")
		}
	}
}

func (c *conversation) sources() {
	c.t.Helper()
	c.ask("POST", "/feature/{name}/enable", "", "plugins")
	c.ask("GET", "/features/{name}", "", "plugins")
	code, err := json.Marshal(map[string]string{"name": "seal", "content": stamp("seal")})
	if err != nil {
		c.t.Fatal(err)
	}
	c.ask("POST", "/plugin/save", string(code))
	c.ask("POST", "/plugin/{name}/reload", "", "seal")
	c.ask("GET", "/plugin/{name}", "", "seal")
	c.ask("DELETE", "/plugin/{name}", "", "seal")
	c.ask("POST", "/v1/python/check", `{"content":"x = ("}`)
}

// plugins calls a plugin in every way, and lets it die.
func (c *conversation) plugins() {
	c.t.Helper()
	c.ask("POST", "/v1/plugins/{name}/call", `{"method":"notes.config"}`, "notes")
	c.ask("PUT", "/v1/plugins/{name}/knobs/{key}", `{"value":5}`, "notes", "level")
	c.ask("POST", "/v1/config/changes", `{"changes":[{"set":"priority","plugin":"notes","value":7}],"preview":true}`)
	for _, body := range []string{`{}`, `{"trace":true}`} {
		c.ask("POST", "/v1/tools/{name}/call", body, "notes.where")
	}
	c.ask("POST", "/v1/tools/{name}/call", `{"trace":true}`, "notes.crash")
	c.ask("GET", "/v1/plugins/{name}/logs", "", "notes")
	c.ask("POST", "/v1/plugins/{name}/restart", "", "notes")
	c.ask("POST", "/v1/plugins/{name}/reload", "", "notes")
	c.ask("POST", "/v1/reload", "")
}

// runs makes a run, and waits for its end.
func (c *conversation) runs() {
	c.t.Helper()
	c.ask("GET", "/v1/jobs/{agent}", "", "greeter") // before its first run
	id := field(c.ask("POST", "/v1/jobs/{agent}/run", "{}", "greeter"), "id")
	at := strings.Split(id, "/")
	if err := c.Jobs.Store.Follow(c.t.Context(), id, func(job.Line) error { return nil }); err != nil {
		c.t.Fatal(err)
	}
	const one = "/v1/runs/{agent}/{schedule}/{time}"
	if run := c.ask("GET", one, "", at...); field(run, "status") != string(job.Succeeded) {
		c.t.Errorf("%v", run)
	}
	if lines := list(c.ask("GET", one+"/output", "", at...)); len(lines) < 2 {
		c.t.Errorf("output: %v", lines)
	}
	c.ask("GET", "/v1/jobs/{agent}", "", "greeter")
	if runs := list(c.ask("GET", "/v1/runs?limit=1", "")); len(runs) != 1 {
		c.t.Errorf("runs: %v", runs)
	}
}

// turns runs a turn in each of two sessions, and fires an event by hand.
func (c *conversation) turns() {
	c.t.Helper()
	for _, path := range []string{"/session", "/v1/sessions"} {
		id := field(c.ask("POST", path, `{"plugins":["sign"]}`), "id")
		c.ask("GET", path+"/{id}", "", id)
		c.ask("PATCH", path+"/{id}", `{"title":"typed"}`, id)
		turn := c.ask("POST", path+"/{id}/message", `{"text":"what is here?"}`, id)
		if path == "/session" && len(list(turn)) != 2 {
			c.t.Errorf("tools: %v", turn)
		}
		c.ask("POST", path+"/{id}/interrupt", "", id)
		if entries := list(c.ask("GET", "/v1/sessions/{id}/transcript", "", id)); len(entries) < 4 {
			c.t.Errorf("transcript: %v", entries)
		}
	}
	for _, trace := range []string{"false", "true"} {
		c.ask("POST", "/v1/fire", `{"point":"prompt.context","data":{"user_message":"hi"},"trace":`+trace+`}`)
	}
	var traces []any
	eventually.True(c.t, "the turns have traces", func() bool {
		traces = list(c.ask("GET", "/v1/traces?brief=true", ""))
		return len(traces) > 0
	})
	for _, one := range traces {
		c.ask("GET", "/v1/traces/{id}", "", fmt.Sprint(one.(map[string]any)["id"]))
	}
	if turns := list(c.ask("GET", "/v1/turns?limit=1", "")); len(turns) != 1 {
		c.t.Errorf("turns: %v", turns)
	}
}

// TestNothingIsLostInAView: an outcome in the form for clients has every field that it has in hook.
func TestNothingIsLostInAView(t *testing.T) {
	full := &hook.Outcome{Point: hook.TurnInput, Verdict: hook.Deny, Reason: "r", Suggest: "s", By: "guard", Payload: json.RawMessage(`{"message":"<hi>"}`),
		Steps: []hook.Step{{Plugin: "guard", Dialect: "kaged", Hook: "h", Connected: true, Changed: true, Verdict: hook.Deny, Started: time.Unix(1, 0), Duration: time.Second,
			Err: &hook.Error{Kind: hook.Timeout, Err: errors.New("late")}, Action: hook.ActionSkip, Notes: []string{"n"}, Sent: json.RawMessage("1"), Received: json.RawMessage("2")}, {}}}
	for _, o := range []json.Marshaler{full, full.Trace(), &hook.Outcome{}} {
		view, err := viewOutcome(o)
		if err != nil {
			t.Fatal(err)
		}
		got, want := decoded(t, view), decoded(t, o)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

// decoded returns the JSON of a value as a value of type any.
func decoded(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
