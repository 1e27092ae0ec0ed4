package job

import (
	"path/filepath"
	"testing"
	"time"
)

// TestWarnings: manifests of dotagent load. A key that has no effect, or another effect than its
// author may expect, gets a warning with its place.
func TestWarnings(t *testing.T) {
	const minimal = "[agent]\nname = \"a\"\n[run]\ncommand = \"true\"\n"
	for _, c := range []struct{ rule, text, want string }{
		{"a plain manifest has no warnings", "", ""},
		{"zero retries are one attempt", "[defaults]\nmax_retries = 0\n", `6:15: defaults.max_retries: 0 counts as 1: it is the number of attempts, the first included; write 1`},
		{"zero retries in a schedule are one attempt", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 5\nmax_retries = 0\n",
			`9:15: schedules[0].max_retries: 0 counts as 1: it is the number of attempts, the first included; write 1`},
		{"an event that only dotagent sends", "[[notifiers]]\ndriver = \"desktop\"\nevents = [\"success\", \"daily_summary\"]\n",
			`7:22: notifiers[0].events[1]: "daily_summary" has no effect: only dotagent sends it; remove it`},
		{"an event in on_failure that only dotagent sends", "[[on_failure]]\nplugin = \"p\"\nevents = [\"daily_summary\"]\n",
			`7:11: on_failure[0].events[0]: "daily_summary" has no effect: only dotagent sends it; remove it`},
		{"preflight is not an event of a run", "[[on_failure]]\nplugin = \"p\"\nevents = [\"preflight\"]\n",
			`7:11: on_failure[0].events[0]: Patchbay never sends "preflight": a preflight that refuses is attempt_failed; list "attempt_failed" to hear of it`},
		{"a sink that is never called", "[[on_success]]\nplugin = \"p\"\nevents = [\"recovered\"]\n",
			`7:10: on_success[0].events: plugin p is never called: on_success is for success only; add "success", or remove the list`},
		{"a preflight's events", "[[preflight]]\nplugin = \"p\"\nevents = [\"success\"]\n",
			`7:10: preflight[0].events: it has no effect: a preflight is called before every attempt; remove it`},
		{"a notifier's time", "[[notifiers]]\ndriver = \"desktop\"\ntimeout_seconds = 20\n",
			`7:19: notifiers[0].timeout_seconds: it has no effect on the driver desktop, which has its own limit; remove it`},
		{"the time of a plugin has an effect", "[[notifiers]]\ndriver = \"plugin\"\nname = \"p\"\ntimeout_seconds = 20\n", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), manifestFile)
			m, err := Parse(path, []byte(minimal+c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range m.Warnings {
				got += w.String()[len(path)+1:]
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if m.Defaults.Attempts < 1 || len(m.Schedules) > 0 && m.Schedules[0].Retry.Attempts != 1 {
				t.Errorf("there would be no attempt: %+v, %+v", m.Defaults, m.Schedules)
			}
			if len(m.Notifiers) == 1 && m.Notifiers[0].Driver == DriverPlugin {
				if h, err := m.Notifiers[0].Hook(); err != nil || h.Timeout != 20*time.Second {
					t.Errorf("the plugin's time: %+v, %v", h, err)
				}
			}
		})
	}
}

// TestLevels: priorities and sounds are read as the notifiers send them, by name and by number.
func TestLevels(t *testing.T) {
	const minimal = "[agent]\nname = \"a\"\nversion = \"1.2\"\n[run]\ncommand = \"true\"\n[[notifiers]]\n"
	for _, c := range []struct {
		text, key string
		want      any
	}{
		{"driver = \"ntfy\"\ntopic = \"t\"\npriority = \"high\"\n", "priority", "high"},
		{"driver = \"ntfy\"\ntopic = \"t\"\npriority = 4\n", "priority", int64(4)},
		{"driver = \"pushover\"\ntoken = \"t\"\nuser = \"u\"\npriority = \"emergency\"\n", "priority", "emergency"},
		{"driver = \"pushover\"\ntoken = \"t\"\nuser = \"u\"\npriority = -2\n", "priority", int64(-2)},
		{"driver = \"desktop\"\nsound = \"bell\"\n", "sound", "bell"},
		{"driver = \"desktop\"\nsound = false\n", "sound", false},
	} {
		m, err := Parse(filepath.Join(t.TempDir(), manifestFile), []byte(minimal+c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := m.Notifiers[0].Settings[c.key]; got != c.want {
			t.Errorf("%s: got %v", c.text, got)
		}
	}
	if _, err := Parse(filepath.Join(t.TempDir(), manifestFile), []byte(minimal+"driver = \"ntfy\"\ntopic = \"t\"\npriority = \"hihg\"\n")); err == nil {
		t.Error("an unknown priority was accepted")
	}
}
