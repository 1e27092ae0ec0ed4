package daemon

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestSessionPages follows the links from page to page. All pages together must be the whole list.
func TestSessionPages(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	for range 120 {
		if _, err := s.Sessions.Create(t.Context(), session.Session{WorkingDir: s.Dir()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, route := range []string{"/session", "/v1/sessions"} {
		want := s.sessionIDs(s.do("GET", route, ""))
		var got []string
		path, pages := route+"?limit=50", 0
		for ; path != ""; pages++ {
			r := s.do("GET", path, "")
			got = append(got, s.sessionIDs(r)...)
			link, _, _ := strings.Cut(r.header.Get("Link"), ">")
			path = strings.TrimPrefix(link, "<")
		}
		if len(want) != 120 || pages != 3 || !slices.Equal(got, want) {
			t.Errorf("%s: %d sessions on %d pages, and %d in all", route, len(got), pages, len(want))
		}
		if r := s.do("GET", route+"?after=nowhere", ""); r.status != http.StatusBadRequest || !strings.Contains(r.body, "leave it out to begin with the newest") {
			t.Errorf("%s: an invalid cursor: %d %s", route, r.status, r.body)
		}
	}
}

func (s *served) sessionIDs(r reply) []string {
	s.t.Helper()
	var list []session.Session
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.status != http.StatusOK {
		s.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	ids := make([]string, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	return ids
}
