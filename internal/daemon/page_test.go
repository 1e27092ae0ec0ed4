package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// pages reads a list over HTTP page by page. It returns one field of each item; the parameter name
// says which.
func pages(t *testing.T, s *served, path, list, name string) (all []string) {
	t.Helper()
	for after := ""; ; {
		got := s.do("GET", path+"&after="+url.QueryEscape(after), "")
		var page map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		var items []map[string]any
		if err := json.Unmarshal(page[list], &items); err != nil || len(items) > 2 {
			t.Fatalf("%d items, %v: %s", len(items), err, got.body)
		}
		for _, item := range items {
			all = append(all, fmt.Sprint(item[name]))
		}
		next, ok := page["next"]
		if !ok {
			return all
		}
		if err := json.Unmarshal(next, &after); err != nil || after == "" || len(items) != 2 {
			t.Fatalf("next is %s, %v, after %d items", next, err, len(items))
		}
	}
}

// traced returns the event of a point, as a turn sends it.
func traced(point hook.Point, sessionID, turn string, steps ...hook.Step) chat.Event {
	trace := (&hook.Outcome{Point: point, Verdict: hook.Continue, Payload: json.RawMessage(`{"message":"hi ` + turn + `"}`), Steps: steps}).Trace()
	return chat.Event{Type: chat.Point, Session: sessionID, Turn: turn, Time: time.Now(), Outcome: &trace}
}

func TestTracesHavePages(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	failing := hook.Step{Plugin: "b", Started: time.Time{}.Add(time.Second), Err: &hook.Error{Plugin: "b", Err: errors.New("boom")}}
	for i := range 9 {
		turn, point, steps := fmt.Sprint("turn", i/3), hook.TurnInput, []hook.Step{{Plugin: "a", Sent: json.RawMessage(`{"x":1}`), Duration: time.Second}}
		if i%3 == 0 {
			point, steps = hook.TurnFinal, append(steps, failing)
		}
		s.record(chat.Event{Type: chat.TurnStarted, Session: fmt.Sprint("ses", i%2), Turn: turn})
		s.record(traced(point, fmt.Sprint("ses", i%2), turn, steps...))
	}
	eventually.True(t, "all events are in the journal", func() bool {
		last, err := s.Journal.Last(t.Context())
		return err == nil && last >= 18
	})
	ids := pages(t, s, "/v1/traces?limit=2", "traces", "id")
	for path, want := range map[string]string{
		"/v1/traces?limit=2":                          "8 7 6 5 4 3 2 1 0",
		"/v1/traces?limit=2&session=ses1":             "7 5 3 1",
		"/v1/traces?limit=2&turn=turn1":               "5 4 3",
		"/v1/traces?limit=2&turn=turn1&session=ses0":  "4",
		"/v1/traces?limit=2&turn=none":                "",
		"/v1/traces?limit=2&turn=%00any":              "",
		"/v1/traces?limit=2&session=ses0%2Fpoint&x=y": "",
		"/v1/traces?limit=2&failed=true":              "6 3 0",
		"/v1/traces?limit=2&plugin=b":                 "6 3 0",
		"/v1/traces?limit=2&plugin=a&session=ses0":    "8 6 4 2 0",
		"/v1/traces?limit=2&point=turn.final":         "6 3 0",
		"/v1/traces?limit=2&host=claude":              "",
	} {
		var got []string
		for _, id := range pages(t, s, path, "traces", "id") {
			got = append(got, fmt.Sprint(8-slices.Index(ids, id)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	one := s.do("GET", "/v1/traces/"+ids[2], "")
	for _, part := range []string{`"sent":{"x":1}`, `"start_us":1000000`, `"failed":true`, `"error":"plugin b: boom"`, `"took_us":1000000`} {
		if one.status != 200 || !strings.Contains(one.body, part) {
			t.Errorf("no %s in %d %s", part, one.status, one.body)
		}
	}
	if brief := s.do("GET", "/v1/traces?brief=true", ""); strings.Contains(brief.body, `"sent"`) || !strings.Contains(brief.body, `"payload":null`) {
		t.Errorf("brief: %s", brief.body)
	}
	for path, want := range map[string]int{"/v1/traces/999999": 404, "/v1/traces/0": 422, "/v1/traces/x": 422, "/v1/traces/18446744073709551615": 404} {
		if got := s.do("GET", path, ""); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestTurnsHavePages(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	for i := range 15 { // the events of two sessions' turns alternate
		s.record(traced(hook.TurnInput, fmt.Sprint("ses", i%2), fmt.Sprintf("turn%d%d", i/6, i%2), hook.Step{Plugin: "a"}))
	}
	eventually.True(t, "all events are in the journal", func() bool {
		last, err := s.Journal.Last(t.Context())
		return err == nil && last >= 15
	})
	for path, want := range map[string]string{
		"/v1/turns?limit=2":              "turn20 turn21 turn11 turn10 turn01 turn00",
		"/v1/turns?limit=2&session=ses1": "turn21 turn11 turn01",
		"/v1/turns?limit=2&session=none": "",
	} {
		if got := strings.Join(pages(t, s, path, "turns", "turn"), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := s.do("GET", "/v1/turns?limit=1", "").body; !strings.Contains(got, `"events":2,"failures":0,"title":"hi turn20"`) {
		t.Errorf("%s", got)
	}
}

func TestCursorsOfOtherListsAreRefused(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	for path, cursors := range map[string][]string{
		"/v1/traces": {"x", "17", httpapi.Cursor(runList, "1 5"), httpapi.Cursor(traceList, "x"), httpapi.Cursor(traceList, "-1"), httpapi.Cursor(traceList, "0")},
		"/v1/runs":   {"x", "17", httpapi.Cursor(traceList, "5"), httpapi.Cursor(runList, "x"), httpapi.Cursor(runList, "1 x")},
	} {
		for _, c := range cursors {
			got := s.do("GET", path+"?after="+c, "")
			if got.status != http.StatusBadRequest || !strings.Contains(got.body, "Not a cursor of the list of "+path[len("/v1/"):]) {
				t.Errorf("%s after %s: %d %s", path, c, got.status, got.body)
			}
		}
	}
}

func TestRunsHavePages(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/greeter/agent.toml", greeter)
	s := h.serve("", Limits{})
	j := jobs{s.Jobs}
	var want []string
	for range 5 {
		run, err := j.Start(t.Context(), "greeter", "daily", true)
		if err != nil {
			t.Fatal(err)
		}
		id := run.(job.Run).ID
		if err := j.Follow(t.Context(), id, func(json.RawMessage) error { return nil }); err != nil {
			t.Fatal(err)
		}
		want = append([]string{id}, want...)
	}
	if got := pages(t, s, "/v1/runs?limit=2", "runs", "id"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := pages(t, s, "/v1/runs?limit=2&agent=nobody", "runs", "id"); len(got) != 0 {
		t.Errorf("of an unknown agent: %q", got)
	}
}
