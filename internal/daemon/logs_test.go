package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
)

// TestLogsOverHTTP checks that a client gets the end of a plugin's log and the next lines, without
// secrets.
func TestLogsOverHTTP(t *testing.T) {
	h := kagedHome(t)
	h.write(".config/patchbay/secrets.toml", "WORD = \"hush-hush\"\n")
	s := h.serve("", Limits{})
	store := &pluginlog.Store{Dir: pluginlog.Dir(s.Dirs.State)}
	say := slog.New(store.Tee(slog.DiscardHandler)).With("plugin", "notes", "dialect", "kaged")
	for _, line := range []string{"one", "two hush-hush", "three"} {
		dialect.LogStderr(say, slog.LevelInfo, line)
	}
	var log httpapi.PluginLog
	got := s.do("GET", "/v1/plugins/notes/logs?tail=2", "")
	if err := json.Unmarshal([]byte(got.body), &log); err != nil || len(log.Lines) != 2 || log.Lines[0].Text != "two [secret]" || log.Lines[1].Level != "stderr" || log.Plugin != "notes" {
		t.Errorf("%d %s", got.status, got.body)
	}
	for path, want := range map[string]int{"/v1/plugins/nobody/logs": 404, "/v1/plugins/notes/logs?tail=0": 422, "/v1/plugins/notes/logs?tail=9999999": 422, "/v1/plugins/..%2f..%2fx/logs": 404} {
		if got := s.do("GET", path, ""); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+"/v1/plugins/notes/logs?tail=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"three", "four"} {
		if !scanUntil(lines, want) {
			t.Fatalf("no line with %q: %v", want, lines.Err())
		}
		dialect.LogStderr(say, slog.LevelInfo, "four")
	}
}

// scanUntil reads lines until one contains part.
func scanUntil(lines *bufio.Scanner, part string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), part) {
			return true
		}
	}
	return false
}
