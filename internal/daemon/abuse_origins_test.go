package daemon

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/feature"
)

// TestOtherOrigins checks that a web page of another origin can change and read nothing with the
// requests that a browser sends without a preflight. The table of all refusals on every route is in
// adapter/httpapi; this is a whole daemon, with files that could be written.
func TestOtherOrigins(t *testing.T) {
	h := newTestHome(t)
	s := h.serve("", Limits{})
	if _, err := s.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, h.home)
	evil, err := json.Marshal(map[string]string{"name": "evil", "content": stamp("evil")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule    string
		headers []string
		want    int
	}{
		{"a page that sends its origin", []string{"Origin", "http://evil.example"}, 403},
		{"a page without an origin", []string{"Origin", "null"}, 403},
		{"text, which needs no preflight", []string{"Content-Type", "text/plain"}, 415},
		{"a form", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a beacon", []string{"Content-Type", "text/plain;charset=UTF-8", "Sec-Fetch-Mode", "no-cors"}, 415},
		{"a fetch that hides its origin", []string{"Sec-Fetch-Site", "cross-site", "Referer", "http://" + s.addr + "/"}, 403},
		{"a navigation that posts", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := s.do("POST", "/plugin/save", string(evil), c.headers...); got.status != c.want {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	t.Run("a preflight gets no permission", func(t *testing.T) {
		got := s.do("OPTIONS", "/plugin/save", "", "Origin", "http://evil.example", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "content-type", "Access-Control-Request-Private-Network", "true")
		for name := range got.header {
			if strings.HasPrefix(name, "Access-Control-") || got.status < 400 {
				t.Errorf("%d %s", got.status, name)
			}
		}
	})
	t.Run("requests of images and links change nothing", func(t *testing.T) {
		sessions := s.do("GET", "/session", "").body
		for _, o := range s.operations() {
			if o.method != http.MethodGet && o.path != "/v1/events" {
				s.do("GET", o.at("evil")+"?name=evil&enabled=false&method=DELETE&_method=DELETE", "")
			}
		}
		if got := s.do("GET", "/session", "").body; got != sessions {
			t.Errorf("sessions: %s", got)
		}
		if f, err := s.Features.Get(t.Context(), feature.Plugins); err != nil || !f.Enabled {
			t.Errorf("%+v, %v", f, err)
		}
	})
	before.same(t, snapshot(t, h.home), s.Dirs.State, filepath.Join(s.Dirs.Data, "engine"))
}
