package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/otlp/otlptest"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// louder rewrites messages, and fails at replies.
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

// TestTracesOfADaemon looks at a daemon's traces while it runs and when it is gone, and finds them in a collector: as
// they happen, and exported afterwards, with the same ids.
func TestTracesOfADaemon(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	live, later := otlptest.New(t), otlptest.New(t)
	home := t.TempDir()
	write(t, home, ".config/patchbay/config.toml", fmt.Sprintf("[telemetry]\notlp = %q\n", live.URL))
	write(t, home, ".local/scaffold/plugins/louder", louder)
	if err := os.Chmod(filepath.Join(home, ".local/scaffold/plugins/louder"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveWith(t, home, []string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=k1"}, "--listen", "127.0.0.1:0")
	session := s.session("{}")
	if _, status := s.say(session, "hello"); status != 200 {
		t.Fatalf("status %d", status)
	}
	running := listTraces(t, home, "--session", session)
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
		t.Errorf("without it, those that failed: %+v", failed)
	}
	out, err := patchbayIn(home, "trace", "export", "--otlp", later.URL, "--turn", running[0].Turn, "--gzip").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "exported 2 events as 4 spans to http://127.0.0.1:") {
		t.Errorf("%v: %s", err, out)
	}
	wantSameSpans(t, live.Spans(), later.Spans())
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

// wantSameSpans compares what is not a matter of the clock.
func wantSameSpans(t *testing.T, live, later []otlptest.Span) {
	t.Helper()
	if len(live) != len(later) {
		t.Fatalf("%d spans as it happened, %d later", len(live), len(later))
	}
	for i := range live {
		a, b := live[i], later[i]
		if a.TraceID != live[0].TraceID || a.TraceID != b.TraceID || a.SpanID != b.SpanID || a.Parent != b.Parent || a.Name != b.Name || a.Status.Code != b.Status.Code {
			t.Errorf("span %d: %+v as it happened, %+v later", i, a, b)
		}
	}
}
