package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
)

// pages reads a list over HTTP, page by page, and returns what name is in each item.
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

func TestTracesHavePages(t *testing.T) {
	s := newHouse(t).serve("", Limits{})
	for i := range 9 {
		turn := fmt.Sprint("turn", i/3)
		s.record(chat.Event{Type: chat.TurnStarted, Session: fmt.Sprint("ses", i%2), Turn: turn})
		s.record(chat.Event{Type: chat.Point, Session: fmt.Sprint("ses", i%2), Turn: turn, Text: fmt.Sprint(i)})
	}
	eventually(t, "all events are in the journal", func() bool {
		last, err := s.Journal.Last(t.Context())
		return err == nil && last >= 18
	})
	for path, want := range map[string]string{
		"/v1/traces?limit=2":                          "8 7 6 5 4 3 2 1 0",
		"/v1/traces?limit=2&session=ses1":             "7 5 3 1",
		"/v1/traces?limit=2&turn=turn1":               "5 4 3",
		"/v1/traces?limit=2&turn=turn1&session=ses0":  "4",
		"/v1/traces?limit=2&turn=none":                "",
		"/v1/traces?limit=2&turn=%00any":              "",
		"/v1/traces?limit=2&session=ses0%2Fpoint&x=y": "",
	} {
		if got := strings.Join(pages(t, s, path, "traces", "text"), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestCursorsOfOtherListsAreRefused(t *testing.T) {
	s := newHouse(t).serve("", Limits{})
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
	h := newHouse(t)
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
		t.Errorf("of nobody: %q", got)
	}
}
