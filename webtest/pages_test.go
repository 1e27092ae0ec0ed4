package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notExecutable makes a plugin's program not executable, as a careless copy does.
func notExecutable(t testing.TB) func(home string) {
	return func(home string) {
		if err := os.Chmod(filepath.Join(home, ".local/share/mine/plugins/locked/mine-plugin-locked"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each page loads, has its title, fits on a phone, and has no serious problem of accessibility.
func TestEveryPage(t *testing.T) {
	s := newSite(t, notExecutable(t))
	for range 12 {
		s.call("POST", "/v1/tools/tuner.greet/call", map[string]any{"arguments": map[string]any{"who": "Ben"}}, nil)
	}
	s.call("POST", "/v1/jobs/flaky/run", nil, nil)
	p := newTab(t, s, "/")
	for _, one := range []struct{ path, title, see string }{
		{"/", "Overview", "tuner"},
		{"/plugins", "Plugins", "no-force"},
		{"/plugins/tuner", "tuner", "session.start"},
		{"/plugins/tuner?tab=settings", "tuner", "Closing lines"},
		{"/plugins/tuner?tab=sandbox", "tuner", "nothing else is mounted"},
		{"/plugins/tuner?tab=log", "tuner", "greeted Ben for the 12. time"},
		{"/plugins/tuner?tab=messages", "tuner", "tuner.greeted"},
		{"/plugins/tuner?tab=manifest", "tuner", "kaged_api"},
		{"/plugins/locked", "locked", "not executable"},
		{"/pipeline", "Pipeline", "called one after the other"},
		{"/trace", "Trace", "No turn yet"},
		{"/trace?tab=events", "Trace", "No event"},
		{"/chat", "Chat", "No session yet"},
		{"/python", "Python", "Python plugins are off"},
		{"/try", "Try", "tuner.greet"},
		{"/try/point/turn.input", "Try a point", "really run"},
		{"/jobs", "Jobs", "the lamp"},
		{"/jobs/greeter", "greeter", "morning"},
		{"/doctor", "Doctor", "locked"},
	} {
		t.Run(strings.Trim(one.path, "/"), func(t *testing.T) {
			p.t = t
			p.open(one.path)
			p.see(one.see)
			p.until("the title to name the page", `document.title.startsWith("`+one.title+`")`)
			name := strings.NewReplacer("/", "-", "?tab=", "-").Replace(strings.Trim(one.path, "/"))
			if name == "" {
				name = "overview"
			}
			p.picture(name)
			p.checkAxe()
		})
	}
	p.t = t
}
