package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestFilesThatChangeBetweenTurns checks that changes of plugin files take effect in the next turn
// of a session.
func TestFilesThatChangeBetweenTurns(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/a.py", "def broken(:\n")
	b := h.write(".agent/plugins/b.py", "@on_done\nasync def done(ctx): pass\n")
	s := h.serve(strings.Repeat("- text: hi\n", 8), Limits{})
	if _, err := s.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	id := h.session(s.Core, "a", "b")
	say := func(what, want string) {
		t.Helper()
		if got := h.say(s.Core, id, "hello").Text; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	say("one is broken, the other changes nothing", "hi")
	if !strings.Contains(s.log.String(), `msg="plugin left out of the turn" plugin=a`) {
		t.Errorf("the log does not say that it is left out:\n%s", s.log)
	}
	h.write(".agent/plugins/a.py", stamp("a"))
	say("the broken one was repaired", "hi a")
	h.write(".agent/plugins/b.py", stamp("b"))
	say("the other has other hooks now", "hi a b")
	h.write(".agent/plugins/a.py", stamp("anew"))
	say("one was edited", "hi anew b")
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	say("one was removed", "hi anew")
	if !strings.Contains(s.log.String(), `msg="plugin left out of the turn: there is no such file" plugin=b`) || !strings.Contains(s.log.String(), `fix="put the file back`) {
		t.Error("the log does not say that it is gone")
	}
	if err := os.Rename(filepath.Join(h.home, ".agent/plugins/a.py"), filepath.Join(h.home, ".agent/plugins/b.py")); err != nil {
		t.Fatal(err)
	}
	say("one took the other's place", "hi anew")
}

// TestADisabledPythonPlugin checks that the routes that change a disabled plugin say how to enable
// it.
func TestADisabledPythonPlugin(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/resting.py", stamp("rest"))
	h.write(".config/patchbay/config.toml", "[plugins.resting]\nenabled = false\n")
	s := h.serve("", Limits{})
	s.do("POST", "/feature/plugins/enable", "{}")
	for path, body := range map[string]string{"/plugin/resting/reload": "", "/plugin/save": `{"name":"resting","content":"x = 1"}`} {
		if got := s.do("POST", path, body); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "`patchbay plugin enable resting`") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
