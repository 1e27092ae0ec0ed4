package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestCodeIsCheckedWithoutBeingRun checks that code is parsed but not run, and that an error has
// its line.
func TestCodeIsCheckedWithoutBeingRun(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	s := h.serve("", Limits{})
	mark := filepath.Join(h.home, "ran")
	check := func(code string) (c httpapi.SourceCheck) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"content": code})
		if err != nil {
			t.Fatal(err)
		}
		got := s.do("POST", "/v1/python/check", string(body))
		if err := json.Unmarshal([]byte(got.body), &c); err != nil || got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return c
	}
	if c := check("open(" + `"` + mark + `"` + ", 'w').close()\nwhile True: pass\n" + stamp("x")); !c.OK || c.Message != "" {
		t.Errorf("code that never ends: %+v", c)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the code was run")
	}
	if c := check("x = 1\ndef f(:\n    pass\n"); c.OK || c.Line != 2 || c.Column == 0 || !strings.Contains(c.Message, "SyntaxError") {
		t.Errorf("code that is not Python: %+v", c)
	}
	if c := check(strings.Repeat("(", 5000)); c.OK || c.Message == "" {
		t.Errorf("brackets without end: %+v", c)
	}
	if c := check("\x00"); c.OK {
		t.Errorf("a zero: %+v", c)
	}
	parser := func() *idleParser {
		s.parsers.mu.Lock()
		defer s.parsers.mu.Unlock()
		if len(s.parsers.idle) != 1 {
			t.Fatalf("%d interpreters wait for the next draft", len(s.parsers.idle))
		}
		return s.parsers.idle[0]
	}
	first := parser()
	if c := check("x = 1\n" + stamp("x")); !c.OK || parser() != first {
		t.Errorf("the interpreter is not used again: %+v", c)
	}
	s.parsers.expire(first)
	if c := check("x = 1\n" + stamp("x")); !c.OK || parser() == first {
		t.Errorf("after the interpreter has ended: %+v", c)
	}
}
