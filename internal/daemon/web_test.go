package daemon

import (
	"strings"
	"testing"
)

// TestTheWebPage checks that the page is at its addresses, that the routes are listed beside it,
// and that the page may load nothing from elsewhere.
func TestTheWebPage(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	for _, path := range []string{"/", "/plugins/words", "/trace/ses_1/turn_1"} {
		got := s.do("GET", path, "")
		policy := got.header.Get("Content-Security-Policy")
		if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	if got := s.do("GET", "/docs", ""); got.status != 200 || !strings.Contains(got.body, "/v1/plugins") {
		t.Errorf("/docs: %d %s", got.status, got.body)
	}
}
