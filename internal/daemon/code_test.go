package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// source returns the body of a save or a validation.
func source(t *testing.T, name, content string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"name": name, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestCodeThatEndsTheInterpreterIsInvalid: code that ends the interpreter gets the same answer as
// code that is not Python, "Invalid plugin code: …". See docs/protocols/python.md.
func TestCodeThatEndsTheInterpreterIsInvalid(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	s := newTestHome(t).serve("", Limits{})
	s.do("POST", "/feature/plugins/enable", "")
	for _, path := range []string{"/plugin/validate", "/plugin/save"} {
		for _, code := range []string{"import os\nos._exit(3)\n", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "raise SystemExit(1)\n"} {
			got := s.do("POST", path, source(t, "fatal", code))
			if got.status != http.StatusBadRequest || !strings.HasPrefix(got.body, `{"detail":"Invalid plugin code: `) {
				t.Errorf("%s of %q: %d %s", path, code, got.status, got.body)
			}
		}
	}
	if got := s.do("GET", "/plugin/fatal", ""); got.status != http.StatusNotFound {
		t.Errorf("the code was saved: %d %s", got.status, got.body)
	}
	s.works("code that ends interpreters")
}

// TestCodeWithoutEffectIsAWarning checks that a misspelt decorator is a warning in the answer, and
// that the answer for other code has only the fields of the protocol.
func TestCodeWithoutEffectIsAWarning(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	s := newTestHome(t).serve("", Limits{})
	s.do("POST", "/feature/plugins/enable", "")
	for _, path := range []string{"/plugin/validate", "/plugin/save"} {
		misspelt := s.do("POST", path, source(t, "typo", "@on_fnal\nasync def f(ctx, text): return text\n"))
		if want := "did you mean @on_final?"; misspelt.status != http.StatusOK || !strings.Contains(misspelt.body, `"warnings":[`) || !strings.Contains(misspelt.body, want) {
			t.Errorf("%s: %d %s, want a warning with %q", path, misspelt.status, misspelt.body, want)
		}
		fine := s.do("POST", path, source(t, "fine", "@on_final\nasync def f(ctx, text): return text\n"))
		if fine.status != http.StatusOK || strings.Contains(fine.body, "warnings") {
			t.Errorf("%s: %d %s, want no warnings", path, fine.status, fine.body)
		}
	}
}

// TestTheLongestName checks that a name of 64 characters works everywhere, and that a longer one is
// refused.
func TestTheLongestName(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	s := newTestHome(t).serve("[{text: hi}]", Limits{})
	s.do("POST", "/feature/plugins/enable", "")
	name := strings.Repeat("n", 64)
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/plugin/validate", source(t, name, stamp(name))},
		{"POST", "/plugin/save", source(t, name, stamp(name))},
		{"GET", "/plugin/" + name, ""},
		{"POST", "/plugin/" + name + "/reload", ""},
		{"POST", "/session", `{"plugins":["` + name + `"]}`},
		{"DELETE", "/plugin/" + name, ""},
	} {
		if got := s.do(c.method, c.path, c.body); got.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	for _, c := range []struct{ name, content string }{{name + "n", "pass"}, {"ok", stamp(name + "n")}} {
		if got := s.do("POST", "/plugin/save", source(t, c.name, c.content)); got.status != http.StatusBadRequest {
			t.Errorf("a name of 65 characters: %d %s", got.status, got.body)
		}
	}
}
