package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// The planted secrets. None may leave the daemon in any way. The end of each says where it
// was planted.
const (
	keySecret    = "sk-planted-0123456789abcdef-model-key"
	tokenSecret  = "planted-0123456789abcdef-server-token"
	topicSecret  = "planted-0123456789abcdef-topic"
	hookSecret   = "planted-0123456789abcdef-webhook"
	pluginSecret = "planted-0123456789abcdef-system-config"
	environment  = "planted-0123456789abcdef-environment"
)

var planted = []string{keySecret, tokenSecret, topicSecret, hookSecret, pluginSecret, environment}

const leakyAgent = `
[agent]
name = "leaky"
[run]
command = "/bin/sh"
args = ["-c", "echo failing >&2; exit 3"]
[[schedules]]
id = "daily"
type = "cron"
hours = [6]
minute = 0
[[notifiers]]
driver = "ntfy"
topic = "${TOPIC}"
base_url = "%[1]s"
[[notifiers]]
driver = "slack"
webhook_url = "%[1]s/${HOOK}"
`

const notesPlugin = `#!/usr/bin/env bash
while IFS= read -r line; do
  printf '%s\n' "$line" >>../../../../../received # the home, which is not searched for secrets
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]} || continue
  reply='"result":{}'
  case $line in
  *'"method":"initialize"'*)
    reply='"result":{"name":"notes","version":"0.3.0","api_version":1,"methods":["notes.fail"],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"kaged.hook.on_session_start"'*) exit 7 ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$reply"
done
`

// TestSecretsStayInside plants a secret in every place that can hold one, and makes everything
// fail. Then it searches every answer, event, metric, log line, command's output and file for the
// secrets.
func TestSecretsStayInside(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	told := new(plugtest.Log)
	rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // repeats the request in its answer
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16))
		fmt.Fprintln(told, r.URL, r.Header, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		text, _ := json.Marshal(fmt.Sprintf("Incorrect API key provided: %s %s %v %s", r.Header.Get("Authorization"), r.URL, r.Header, body))
		fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error","code":"invalid_api_key"}}`, text)
	}))
	defer rude.Close()
	home := t.TempDir()
	write(t, home, ".config/patchbay/config.toml", fmt.Sprintf(`sandbox = "off"
[model]
provider = "openai"
name = "gpt"
base_url = "%s/v1"
[server]
token = "%s"
`, rude.URL, tokenSecret))
	write(t, home, ".config/patchbay/secrets.toml", fmt.Sprintf("OPENAI_API_KEY = %q\nTOPIC = %q\nHOOK = %q\n[plugins.notes]\napi_key = %q\n",
		keySecret, topicSecret, hookSecret, pluginSecret))
	write(t, home, ".config/patchbay/agents/leaky/agent.toml", fmt.Sprintf(leakyAgent, rude.URL))
	write(t, home, ".local/share/kaged/plugins/notes/manifest.yaml", "name: notes\nversion: 0.3.0\nkaged_api: 1\ndescription: Keeps notes\n"+
		"command: [./notes.sh]\nmethods: [notes.fail]\nhooks: [on_session_start]\ncapabilities: [\"net:[]\"]\n")
	write(t, home, ".local/share/kaged/plugins/notes/notes.sh", notesPlugin)
	if err := os.Chmod(filepath.Join(home, ".local/share/kaged/plugins/notes/notes.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveWith(t, home, []string{"AWS_SECRET_ACCESS_KEY=" + environment, "GITHUB_TOKEN=" + environment, "MY_PASSWORD=" + environment},
		"-v")
	e := &seenTexts{s: s}
	e.causeErrors()
	e.everyRoute()
	for _, args := range [][]string{{"doctor"}, {"plugin", "list"}, {"plugin", "info", "notes"}, {"job", "list"}, {"job", "history"}, {"job", "doctor"},
		{"call", "notes", "notes.fail"}, {"fire", "session.start", "--data", `{"session_id":"s","working_dir":"/","project_root":"/"}`, "--trace"},
		{"trace", "record", filepath.Join(home, ".local", "notes.trace"), "--", "call", "notes", "notes.fail"}} {
		for _, style := range [][]string{{"--json"}, {"-v"}} {
			out, _ := patchbayIn(home, append(args, style...)...).CombinedOutput() // it may fail; only its output counts
			e.add("patchbay "+strings.Join(append(args, style...), " "), string(out))
		}
	}
	s.stop()
	e.add("the log", s.log.String())
	e.files(filepath.Join(home, ".local"))
	e.search(t)
	received, err := os.ReadFile(filepath.Join(home, "received"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{keySecret, topicSecret, hookSecret, pluginSecret} {
		if !strings.Contains(told.String()+string(received), secret) {
			t.Errorf("%s was not used: the test proves nothing", secret)
		}
	}
}

// A seenText is a text that left the daemon, with its way out.
type seenText struct{ where, text string }

// seenTexts collects these texts.
type seenTexts struct {
	s   *server
	all []seenText
}

func (e *seenTexts) add(where, text string) { e.all = append(e.all, seenText{where, text}) }

// ask makes a request with the token and stores the answer. It reads only the beginning of a
// stream.
func (e *seenTexts) ask(method, path, body string, headers ...string) string {
	e.s.t.Helper()
	ctx, cancel := context.WithTimeout(e.s.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, e.s.url+path, strings.NewReader(body))
	if err != nil {
		e.s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tokenSecret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		e.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text string
	if strings.HasPrefix(path, "/v1/events") {
		text = untilTurns(resp.Body, cancel)
	} else {
		all, _ := io.ReadAll(resp.Body) // a stream may be cut off
		text = string(all)
	}
	e.add(method+" "+path, fmt.Sprintf("%v %s", resp.Header, text))
	return text
}

// untilTurns reads a stream of events, which does not end by itself. The stored events come at
// once. When the first event of a turn has come, all others have two more seconds.
func untilTurns(stream io.Reader, cancel func()) string {
	var text bytes.Buffer
	found := false
	for buffer := make([]byte, 4096); ; {
		n, err := stream.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			return text.String()
		}
		if !found && bytes.Contains(text.Bytes(), []byte("turn.")) {
			found = true
			time.AfterFunc(2*time.Second, cancel)
		}
	}
}

// causeErrors makes things fail: the model, the tokens, the requests, a plugin, a job and its
// notifiers.
func (e *seenTexts) causeErrors() {
	e.s.t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(e.ask("POST", "/session", "{}")), &made); err != nil {
		e.s.t.Fatal(err)
	}
	if got := e.ask("POST", "/session/"+made.ID+"/message", `{"text":"hello"}`); !strings.Contains(got, "401") && !strings.Contains(got, "key") {
		e.s.t.Errorf("the model was not called: %s", got)
	}
	e.ask("POST", "/session/"+made.ID+"/message", `{"text":"hello"}`, "Accept", "text/event-stream")
	e.ask("GET", "/features", "", "Authorization", "Bearer "+tokenSecret+"x")
	e.ask("GET", "/features", "", "Origin", "http://evil.example")
	e.ask("POST", "/v1/fire", `{"point":"session.start","data":{"session_id":"s","working_dir":"/","project_root":"/"},"trace":true}`)
	e.ask("POST", "/plugin/save", `{"name":`)
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(e.ask("POST", "/v1/jobs/leaky/run", `{"once":true}`)), &run); err != nil {
		e.s.t.Fatal(err)
	}
	if got := e.ask("GET", "/v1/runs/"+run.ID+"/output", "", "Accept", "text/event-stream"); !strings.Contains(got, "failing") {
		e.s.t.Errorf("the job did not run: %s", got)
	}
	e.ask("GET", "/v1/runs/"+run.ID, "")
	e.ask("GET", "/v1/sessions/"+made.ID+"/transcript", "")
}

// everyRoute reads every route.
func (e *seenTexts) everyRoute() {
	e.s.t.Helper()
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(e.ask("GET", "/openapi.json", "")), &doc); err != nil {
		e.s.t.Fatal(err)
	}
	fill := strings.NewReplacer("{name}", "notes", "{agent}", "leaky", "{id}", "none", "{schedule}", "daily", "{time}", "0")
	for path, methods := range doc.Paths {
		if _, ok := methods["get"]; ok && path != "/v1/events" {
			e.ask("GET", fill.Replace(path), "")
		}
	}
	if got := e.ask("GET", "/v1/events?after=0", ""); !strings.Contains(got, "turn.") {
		e.s.t.Errorf("no events: %s", got)
	}
}

// files stores the files that the daemon has written.
func (e *seenTexts) files(dir string) {
	e.s.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		e.add(path, string(text))
		return err
	})
	if err != nil {
		e.s.t.Fatal(err)
	}
}

func (e *seenTexts) search(t *testing.T) {
	t.Helper()
	if len(e.all) < 60 {
		t.Errorf("only %d texts were collected", len(e.all))
	}
	for _, one := range e.all {
		for _, secret := range planted {
			if i := bytes.Index([]byte(one.text), []byte(secret)); i >= 0 {
				t.Errorf("%s has %s: …%q…", one.where, secret, one.text[max(0, i-120):min(len(one.text), i+60)])
			}
		}
	}
}
