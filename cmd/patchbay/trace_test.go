package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/otlp/otlptest"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// louder is a plugin that rewrites messages, and fails at replies.
const louder = `#!/usr/bin/env bash
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  result='{}'
  case $line in
  *'"method":"initialize"'*) result='{"name":"louder","version":"1.0.0","hooks":["post_user_input","post_llm_response"],"tools":[]}' ;;
  *'"method":"hook/post_user_input"'*) result='{"action":"continue","message":"HELLO"}' ;;
  *'"method":"hook/post_llm_response"'*) result='"no object"' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// TestTracesOfADaemon lists a daemon's traces while it runs and after its end. A collector gets
// them as they happen, and once more by an export, with the same ids, and without the secret that a
// plugin repeats.
func TestTracesOfADaemon(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	live, later := otlptest.New(t), otlptest.New(t)
	home := t.TempDir()
	write(t, home, ".config/patchbay/config.toml", fmt.Sprintf("[telemetry]\notlp = %q\n", live.URL))
	write(t, home, ".config/patchbay/secrets.toml", `KEY = "planted-key"`)
	if err := os.Chmod(filepath.Join(home, ".config/patchbay/secrets.toml"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, home, ".local/scaffold/plugins/louder", strings.Replace(louder, "no object", "planted-key", 1))
	if err := os.Chmod(filepath.Join(home, ".local/scaffold/plugins/louder"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveWith(t, home, []string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=k1"})
	session := s.session("{}")
	if _, status := s.say(session, "hello"); status != 200 {
		t.Fatalf("status %d", status)
	}
	running := awaitTraces(t, home, 2, "--session", session)
	if len(running) != 2 || running[0].Point != "model.reply" || running[1].Point != "turn.input" || running[0].Turn != running[1].Turn {
		t.Fatalf("while it runs: %+v", running)
	}
	var health struct {
		Telemetry struct{ Sent, Dropped int }
	}
	for end := time.Now().Add(patience); health.Telemetry.Sent < 4; time.Sleep(20 * time.Millisecond) {
		if s.call("GET", "/v1/health", "", &health); time.Now().After(end) {
			t.Fatalf("%+v of 4 spans were exported", health)
		}
	}
	s.stop()
	if got := live.Spans(); len(got) != 4 || health.Telemetry.Dropped != 0 || live.Header().Get("Api-Key") != "k1" {
		t.Errorf("%d spans, %+v, %v", len(got), health, live.Header())
	}
	if failed := listTraces(t, home, "--failed", "--plugin", "louder", "--since", "1h"); len(failed) != 1 || failed[0].ID != running[0].ID {
		t.Errorf("without the daemon, the failed events: %+v", failed)
	}
	out, err := patchbayIn(home, "trace", "export", "--otlp", later.URL, "--turn", running[0].Turn, "--gzip").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "exported 2 events as 4 spans to http://127.0.0.1:") {
		t.Errorf("%v: %s", err, out)
	}
	wantSameSpans(t, live.Spans(), later.Spans())
	if text := fmt.Sprintf("%+v", live.Spans()); strings.Contains(text, "planted") || !strings.Contains(text, "[secret]") {
		t.Errorf("exported %s", text)
	}
}

type listedTrace struct {
	ID          uint64
	Point, Turn string
}

func listTraces(t *testing.T, home string, args ...string) []listedTrace {
	t.Helper()
	out, err := patchbayIn(home, append([]string{"trace", "list", "--json"}, args...)...).Output()
	var page struct{ Traces []listedTrace }
	if err == nil {
		err = json.Unmarshal(out, &page)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return page.Traces
}

// awaitTraces waits until there are at least n traces. They are stored some time after the answer.
func awaitTraces(t *testing.T, home string, n int, args ...string) (all []listedTrace) {
	t.Helper()
	for end := time.Now().Add(patience); len(all) < n && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all = listTraces(t, home, args...)
	}
	return all
}

// wantSameSpans compares spans without their times.
func wantSameSpans(t *testing.T, live, later []otlptest.Span) {
	t.Helper()
	if len(live) != len(later) {
		t.Fatalf("%d live spans, %d exported", len(live), len(later))
	}
	for i := range live {
		a, b := live[i], later[i]
		if a.TraceID != live[0].TraceID || a.TraceID != b.TraceID || a.SpanID != b.SpanID || a.Parent != b.Parent || a.Name != b.Name || a.Status.Code != b.Status.Code {
			t.Errorf("span %d: live %+v, exported %+v", i, a, b)
		}
	}
}

// signer is a plugin that signs the answer with a secret.
const signer = `__plugin__ = {"api": "1.0", "name": "signer"}

@on_final
async def sign(ctx, text):
    return "Signed with planted-0123456789. " + text

@on_done
async def done(ctx):
    pass
`

// TestRecordingOfAKeptTurn saves a stored turn over HTTP and with the command, and replays it. The
// same plugins do the same again. After one word of a plugin is changed, the replay reports it.
func TestRecordingOfAKeptTurn(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	plugtest.NeedTool(t, "python3")
	home := t.TempDir()
	write(t, home, ".config/patchbay/config.toml", "sandbox = \"off\"\n")
	write(t, home, ".config/patchbay/secrets.toml", "KEY = \"planted-0123456789\"\n")
	again := strings.NewReplacer("louder", "next", `"message":"HELLO"`, `"message":"'"${line//[^A-Z]/}"' again"`).Replace(louder)
	for name, text := range map[string]string{"louder": louder, "next": again} {
		write(t, home, ".local/scaffold/plugins/"+name, text)
		if err := os.Chmod(filepath.Join(home, ".local/scaffold/plugins", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, home, ".agent/plugins/signer.py", signer)
	s := serve(t, home)
	s.call("POST", "/feature/plugins/enable", "", nil)
	session := s.session(`{"plugins":["signer"]}`)
	if answer, status := s.say(session, "hello"); status != 200 || !strings.Contains(answer.Text, "HELLO again") {
		t.Fatalf("status %d, %+v", status, answer)
	}
	kept := awaitTraces(t, home, 4, "--session", session)
	if len(kept) != 4 {
		t.Fatalf("kept: %+v", kept)
	}
	over, status := s.recording(session, kept[0].Turn)
	if status != 200 {
		t.Fatalf("status %d: %s", status, over)
	}
	if _, status := s.recording(session, "none"); status != 404 {
		t.Errorf("a turn that does not exist: %d", status)
	}
	s.stop()
	out, err := patchbayIn(home, "trace", "export", "--recording", "b.trace", "--turn", kept[0].Turn).CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("recorded %d events", len(kept))) {
		t.Fatalf("%v: %s", err, out)
	}
	write(t, home, "a.trace", over)
	for _, file := range []string{"a.trace", "b.trace"} {
		text, err := os.ReadFile(filepath.Join(home, file))
		if err != nil || strings.Contains(string(text), "planted") || !strings.Contains(string(text), "Signed with [secret].") {
			t.Errorf("%s: %v: %s", file, err, text)
		}
		if out, err := patchbayIn(home, "trace", "replay", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "went as recorded") {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
	write(t, home, ".agent/plugins/signer.py", strings.Replace(signer, "Signed", "Sealed", 1))
	out, err = patchbayIn(home, "trace", "replay", "a.trace").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Sealed with [secret]") || !strings.Contains(string(out), "1 difference in") {
		t.Errorf("a plugin that was changed: %v: %s", err, out)
	}
}

// recording returns the recording of a turn.
func (s *server) recording(session, turn string) (string, int) {
	s.t.Helper()
	resp, err := http.Get(s.url + "/v1/recording?session=" + session + "&turn=" + turn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if name := resp.Header.Get("Content-Disposition"); resp.StatusCode == 200 && name != `attachment; filename="`+turn+`.trace"` {
		s.t.Errorf("its file name is %q", name)
	}
	return string(text), resp.StatusCode
}
