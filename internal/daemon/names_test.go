package daemon

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestPluginsByEitherName checks that a session and the routes find a Python plugin by its file and
// by the name that it declares, and that a file's name wins.
func TestPluginsByEitherName(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/file.py", stamp("own"))
	s := h.serve(strings.Repeat("- text: hi\n", 10), Limits{})
	s.do("POST", "/feature/plugins/enable", "{}")
	turn := func(plugin string) string {
		t.Helper()
		made := s.do("POST", "/session", `{"plugins":["`+plugin+`"]}`)
		var session struct{ ID string }
		if err := json.Unmarshal([]byte(made.body), &session); err != nil || made.status >= 300 {
			t.Fatalf("%+v, %v", made, err)
		}
		return s.do("POST", "/session/"+session.ID+"/message", `{"text":"hi"}`).body
	}
	for _, name := range []string{"file", "own"} {
		if got := turn(name); !strings.Contains(got, "hi own") {
			t.Errorf("a session of %s: %s", name, got)
		}
		if got := s.do("GET", "/plugin/"+name, ""); got.status != http.StatusOK || !strings.Contains(got.body, "file.py") {
			t.Errorf("route of %s: %+v", name, got)
		}
	}
	if got := s.do("POST", "/plugin/save", `{"name":"third","content":`+quote(stamp("file"))+`}`); got.status != http.StatusBadRequest || !strings.Contains(got.body, "file.py") {
		t.Errorf("code that calls itself like another file: %+v", got)
	}
	if got := s.do("POST", "/plugin/save", `{"name":"own","content":`+quote(strings.Replace(stamp("own"), `" own"`, `" new"`, 1))+`}`); got.status >= 300 {
		t.Fatalf("a file may have a name that another calls itself: %+v", got)
	}
	if got := turn("own"); !strings.Contains(got, "hi new") {
		t.Errorf("the name now means that file: %s", got)
	}
	if got := turn("file"); !strings.Contains(got, "hi own") {
		t.Errorf("the other plugin is found by the name of its file: %s", got)
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return string(text)
}
