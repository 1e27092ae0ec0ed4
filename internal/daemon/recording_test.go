package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/recording"
)

// TestRecordingNamesMissingEvents checks that a recording names the events that the journal did not
// store whole, and contains the others.
func TestRecordingNamesMissingEvents(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	step := hook.Step{Plugin: "a", Dialect: "scaffold", Hook: "post_user_input", Verdict: hook.Continue, Sent: json.RawMessage(`{"x":1}`)}
	long := traced(hook.TurnFinal, "ses", "turn", step)
	long.Outcome.Payload = json.RawMessage(`{"text":"` + strings.Repeat("x", maxRecord) + `"}`)
	whole := traced(hook.TurnInput, "ses", "turn", step)
	whole.Outcome.Payload = json.RawMessage(payloadTooLong) // this payload alone does not mark an event as shortened
	nameless := step
	nameless.Hook = ""
	for _, e := range []chat.Event{whole, long, traced(hook.TurnDone, "ses", "turn"), traced(hook.TurnInput, "ses", "turn", nameless),
		unfitting(t, traced(hook.TurnInput, "ses", "turn", step)), traced(hook.TurnInput, "ses", "turn", step), traced(hook.TurnInput, "ses", "idle")} {
		s.record(e)
	}
	eventually.True(t, "all events are in the journal", func() bool {
		last, err := s.Journal.Last(t.Context())
		return err == nil && last >= 7
	})
	got := s.do("GET", "/v1/recording?session=ses&turn=turn", "")
	file := filepath.Join(t.TempDir(), "a.trace")
	if err := os.WriteFile(file, []byte(got.body), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Read(file, false)
	if err != nil || len(r.Entries) != 2 || r.LeftOut != 3 {
		t.Errorf("%d %s: %v", got.status, got.body, err)
	}
	for _, why := range []string{"too long for the journal", "a step has no plugin or no hook", "what plugin a was given cannot be derived"} {
		if !strings.Contains(got.body, why) {
			t.Errorf("no %q in %s", why, got.body)
		}
	}
	for _, query := range []string{"session=ses&turn=idle", "session=other&turn=turn", "session=%2A&turn=%2A", "session=%00any&turn=%00any"} {
		if got := s.do("GET", "/v1/recording?"+query, ""); got.status != 404 {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// unfitting returns an event whose changes do not fit its payload, as in a journal that was
// tampered with.
func unfitting(t *testing.T, e chat.Event) chat.Event {
	t.Helper()
	text, err := json.Marshal(e.Outcome)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer(`"changed":false`, `"changed":true`, `"diff":[]`, `"diff":[{"path":"/message","old":"a","new":"b"}]`).Replace(string(text)))
	if err := json.Unmarshal(text, e.Outcome); err != nil {
		t.Fatal(err)
	}
	return e
}
