package daemon

import (
	"encoding/json"
	"net/http"
	"strconv"
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

// TestANewNameOfAPlugin checks that the daemon knows a Python plugin by the name that its file
// declares now, after any kind of change.
func TestANewNameOfAPlugin(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/file.py", stamp("name0"))
	s := h.serve(strings.Repeat("- text: hi\n", 20), Limits{})
	s.do("POST", "/feature/plugins/enable", "{}")
	edit := func(name string) { h.write(".agent/plugins/file.py", stamp(name)) }
	for i, tc := range []struct {
		rule   string
		change func(name string)
	}{
		{"it is saved", func(name string) {
			if got := s.do("POST", "/plugin/save", `{"name":"file","content":`+quote(stamp(name))+`}`); got.status >= 300 {
				t.Fatalf("%+v", got)
			}
		}},
		{"it is edited", edit},
		{"it is edited and reloaded", func(name string) {
			edit(name)
			if got := s.do("POST", "/plugin/file/reload", ""); !strings.Contains(got.body, `"name":"`+name+`"`) {
				t.Errorf("%+v", got)
			}
		}},
		{"it is edited and restarted", func(name string) {
			edit(name)
			if got := s.do("POST", "/v1/plugins/file/restart", ""); !strings.Contains(got.body, `"name":"`+name+`"`) {
				t.Errorf("%+v", got)
			}
		}},
		{"it is edited, and everything is reloaded", func(name string) {
			edit(name)
			s.do("POST", "/v1/reload", "")
			if got := s.do("GET", "/v1/plugins", ""); !strings.Contains(got.body, `"name":"`+name+`"`) {
				t.Errorf("%+v", got)
			}
		}},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			old, name := "name"+strconv.Itoa(i), "name"+strconv.Itoa(i+1)
			tc.change(name)
			made := s.do("POST", "/session", `{"plugins":["`+name+`"]}`)
			var session struct{ ID string }
			if err := json.Unmarshal([]byte(made.body), &session); err != nil || made.status >= 300 {
				t.Fatalf("%+v, %v", made, err)
			}
			if got := s.do("POST", "/session/"+session.ID+"/message", `{"text":"hi"}`); !strings.Contains(got.body, "hi "+name) {
				t.Errorf("a turn: %+v", got)
			}
			if got := s.do("GET", "/plugin/"+old, ""); got.status != http.StatusNotFound {
				t.Errorf("the old name: %+v", got)
			}
		})
	}
	t.Run("a new name in a file with a fault", func(t *testing.T) {
		h.write(".agent/plugins/file.py", strings.Replace(stamp("name6"), "async", "asink", 1))
		for range 2 {
			if got := s.do("GET", "/plugin/name5", ""); got.status != http.StatusOK {
				t.Errorf("the old code stays: %+v", got)
			}
		}
		if n := strings.Count(s.log.String(), "the old code stays"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return string(text)
}
