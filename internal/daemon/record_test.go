package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestEventsThatAreNotKeptAreCounted checks that each event that is not stored is counted, and that
// health and metrics show the count.
func TestEventsThatAreNotKeptAreCounted(t *testing.T) {
	h := newTestHome(t)
	log := &plugtest.Log{}
	o := h.options()
	o.Host.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close(c)
	c.record(chat.Event{Type: chat.ToolStarted, Tool: &chat.ToolUse{Name: "deep", Arguments: levels(10_001)}}) // cannot be encoded
	if n := c.Journal.Dropped(); n != 1 {
		t.Errorf("%d events are counted as dropped, want 1", n)
	}
	c.post("deep", "", map[string]any{"value": levels(9_999)}) // can be encoded, but the journal's record around it is too deep
	for deadline := time.Now().Add(patience); c.Journal.Dropped() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d events are counted as dropped, want 2", c.Journal.Dropped())
		}
	}
	if !strings.Contains(log.String(), "event dropped") || !strings.Contains(log.String(), "kind=tool.started") {
		t.Errorf("log:\n%s", log.String())
	}
	report, _ := inspect{c}.Health(t.Context())
	if text, err := json.Marshal(report); err != nil || !strings.Contains(string(text), `"events_dropped":2`) {
		t.Errorf("health: %s, %v", text, err)
	}
	w := httptest.NewRecorder()
	c.count.all.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if body, _ := io.ReadAll(w.Body); !strings.Contains(string(body), "patchbay_events_dropped_total 2") {
		t.Errorf("metrics:\n%s", body)
	}
}

// TestPiecesAreNotStored: all events of a turn are stored, except pieces of a text or an output, of
// which a later event has the whole. docs/http-api.md, "Everything that happens", lists these.
func TestPiecesAreNotStored(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	defer h.close(c)
	stored := []chat.EventType{chat.TurnStarted, chat.Point, chat.Retrying, chat.ModelReplied, chat.ToolStarted, chat.ToolFinished, chat.Compacted, chat.TurnFinished}
	for _, kind := range append([]chat.EventType{chat.TextDelta, chat.TextHeld, chat.ToolOutput}, stored...) {
		c.record(chat.Event{Type: kind, Session: "s", Turn: "t"})
	}
	var got []chat.EventType
	for _, e := range h.stored(c, journal.Filter{Session: "s"}, len(stored)) {
		got = append(got, chat.EventType(e.Kind))
	}
	if !slices.Equal(got, stored) {
		t.Errorf("stored %q, want %q", got, stored)
	}
	page, err := os.ReadFile("../../docs/http-api.md")
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(page)), " "), "except `text`, `text.held`, `tool.output`, `result` and `error`") {
		t.Errorf("the page lists other events: %v", err)
	}
}

// TestNoSecretIsStored: a secret that a plugin has repeated is removed from its events.
func TestNoSecretIsStored(t *testing.T) {
	h := newTestHome(t)
	if err := os.Chmod(h.write(".config/patchbay/secrets.toml", "[plugins.notes]\nkey = \"planted-key\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := h.open("")
	defer h.close(c)
	failed := hook.Outcome{Point: hook.SessionStart, Payload: json.RawMessage(`{"inject":"it is planted-key"}`),
		Steps: []hook.Step{{Plugin: "notes", Err: &hook.Error{Err: errors.New("bad key planted-key")}, Received: json.RawMessage(`["planted-key"]`)}}}
	trace := failed.Trace()
	c.record(chat.Event{Type: chat.Point, Session: "s", Turn: "t", Outcome: &trace})
	c.post("plugin.notification", "s", map[string]string{"text": "planted-key"})
	kept := h.stored(c, journal.Filter{Session: "s"}, 2)
	text := string(kept[0].Data) + string(kept[1].Data)
	if strings.Contains(text, "planted-key") || strings.Count(text, "[secret]") != 4 {
		t.Errorf("stored %s", text)
	}
}

// TestANotificationBeforeTheHostIsOpen: a plugin may notify while other plugins still start. Its
// notification is stored, without secrets.
func TestANotificationBeforeTheHostIsOpen(t *testing.T) {
	h := kagedHome(t)
	if err := os.Chmod(h.write(".config/patchbay/secrets.toml", "KEY = \"planted-key\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	told := filepath.Join(h.home, "told")
	const run = ".local/share/kaged/plugins/notes/run.sh"
	program, err := os.ReadFile(filepath.Join(h.home, filepath.FromSlash(run)))
	if err != nil {
		t.Fatal(err)
	}
	const began = `*'"method":"initialized"'*)`
	h.write(run, strings.Replace(string(program), began, began+
		` echo '{"jsonrpc":"2.0","method":"notes.asked","params":{"is":"planted-key"}}'; : > '`+told+`';`, 1))
	h.program(".local/scaffold/plugins/slow", "#!/bin/sh\nread -r line\nuntil [ -e '"+told+"' ]; do sleep 0.05; done\n"+
		`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"slow","version":"1.0.0"}}'; cat >/dev/null`+"\n")
	c := h.open("")
	defer h.close(c)
	if text := string(h.stored(c, journal.Filter{Kinds: []string{"plugin.notification"}}, 1)[0].Data); !strings.Contains(text, "[secret]") || strings.Contains(text, "planted-key") {
		t.Errorf("stored %s", text)
	}
}

// stored waits until the journal has n events that the filter selects, and returns them.
func (h testHome) stored(c *Core, f journal.Filter, n int) (kept []journal.Event) {
	h.t.Helper()
	eventually.True(h.t, "the events are stored", func() bool {
		var err error
		if kept, err = c.Journal.Read(h.t.Context(), 0, f, 0); err != nil {
			h.t.Fatal(err)
		}
		return len(kept) >= n
	})
	return kept
}

func levels(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
}
