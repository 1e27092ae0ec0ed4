package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// minimal is the smallest valid manifest.
const minimal = "[agent]\nname = \"a\"\n[run]\ncommand = \"true\"\n"

func parse(t *testing.T, text string) *Manifest {
	t.Helper()
	m, err := Parse(testPath(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// testPath is an absolute path on every system.
func testPath() string { return filepath.Join(os.TempDir(), "agents", "one", "agent.toml") }

// TestDefaults: each key that the manifest leaves out has its default.
func TestDefaults(t *testing.T) {
	m := parse(t, minimal+"[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 5\n[[preflight]]\nplugin = \"p\"\n")
	dir := filepath.Dir(testPath())
	want := &Manifest{
		Path: testPath(), Dir: dir, Fingerprint: m.Fingerprint, named: m.named,
		Agent:    Agent{Name: "a", Monitor: true, Timeout: 30 * time.Minute},
		Run:      Program{Command: "true", WorkingDir: dir, At: Place{"run.command", 4, 11}, DirAt: Place{"run.working_dir", 3, 2}},
		Env:      Env{Inherit: true, Extra: map[string]string{}},
		Defaults: Retry{3, []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute}, 2 * time.Hour},
		Preflight: []Hook{{
			Plugin: "p", Config: json.RawMessage("{}"), Events: []Event{}, At: Place{"preflight[0]", 9, 3},
		}},
		OnSuccess: []Hook{}, OnFailure: []Hook{}, Notifiers: []Notifier{},
	}
	want.Schedules = []Schedule{{
		ID: "s", Type: TypeInterval, Interval: 5 * time.Minute, Retry: want.Defaults, timing: every(5 * time.Minute),
	}}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
}

// TestEveryKey: each key of docs/jobs.md sets its field.
func TestEveryKey(t *testing.T) {
	m, err := load(filepath.Join("testdata", "full.toml"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	berlin := zone(t, "Europe/Berlin")
	check := func(name string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %#v\nwant %#v", name, got, want)
		}
	}
	check("agent", m.Agent, Agent{"finops-weekly", "What the clouds cost.", "", false, time.Minute})
	check("run", m.Run, Program{filepath.Join(dir, "bin", "report"), []string{"--quiet", ""}, filepath.Join(dir, "work"), true, Place{"run.command", 9, 11}, Place{"run.working_dir", 11, 15}})
	check("env", m.Env, Env{false, map[string]string{"LOG_LEVEL": "info"}})
	defaults := Retry{5, []time.Duration{time.Minute, 2 * time.Minute}, time.Hour}
	check("defaults", m.Defaults, defaults)

	for i := range m.Schedules {
		m.Schedules[i].timing = nil // TestNext and others check it
	}
	check("schedules", m.Schedules, []Schedule{
		{ID: "weekly", Type: TypeCron, Weekdays: []int{1, 5}, Hours: []int{8, 20}, Minute: 30, Zone: berlin,
			Args: []string{"--period", "last-week"}, Retry: Retry{1, []time.Duration{}, 4 * time.Hour}},
		{ID: "often", Type: TypeInterval, Interval: 90 * time.Minute, Retry: defaults},
		{ID: "monthly", Type: TypeExpression, Expression: "CRON_TZ=UTC 0 6 1 * *", Retry: defaults},
	})
	check("preflight", m.Preflight, []Hook{{Plugin: "preflight-vpn", Events: []Event{}, Timeout: 10 * time.Second, At: Place{"preflight[0]", 44, 3},
		Config: json.RawMessage(`{"a<b":[1.5,true],"command":"vpn status","retries":2}`)}})
	check("on_success", m.OnSuccess, []Hook{{Plugin: "sink-file", Config: json.RawMessage("{}"), Events: []Event{Success}, At: Place{"on_success[0]", 49, 3}}})
	check("on_failure", m.OnFailure, []Hook{{Plugin: "notify-relay", Config: json.RawMessage("{}"), Events: []Event{RunGivenUp, GoneStale}, At: Place{"on_failure[0]", 53, 3}}})
	check("security", m.Security, Security{
		AllowedCommands: []string{"./bin/report", "bash"}, AllowedPlugins: []string{"preflight-vpn", "sink-file", "notify-relay"},
		Network: Network{true, []string{"api.example.com"}}, EnvPassthrough: []string{"LANG", "AWS_*"},
		FilesystemWritable: []string{filepath.Join(dir, "out"), resolve(dir, "/srv/reports")},
	})

	check("the first notifier", m.Notifiers[0], Notifier{"imessage", []Event{AttemptFailed, AttemptTimeout, RunRecovered, BeforeRun}, time.Hour, 0,
		map[string]any{"to": "+15550100"}, Place{"notifiers[0]", 57, 3}})
	settings := map[Driver]map[string]any{
		DriverDesktop: {"title": "t", "subtitle": "s", "sound": true, "urgency": "low", "icon": "i", "expire_ms": int64(5000)},
		"slack":       {"webhook_url": "${SLACK_HOOK}", "channel": "#alerts", "username": "u", "icon_emoji": ":robot_face:"},
		"ntfy":        {"topic": "alerts", "base_url": "https://ntfy.example.com", "token": "${NTFY_TOKEN}", "priority": int64(4), "title": "t", "tags": []any{"warning", "skull"}},
		"pushover":    {"token": "${PUSHOVER_TOKEN}", "user": "${PUSHOVER_USER}", "priority": int64(-1), "title": "t", "base_url": "http://127.0.0.1:8080"},
		"telegram":    {"bot_token": "${TELEGRAM_TOKEN}", "chat_id": int64(-1001), "parse_mode": "HTML", "disable_notification": true, "base_url": "https://telegram.example.com"},
		DriverPlugin:  {"name": "notify-relay", "config": map[string]any{"room": "ops"}},
	}
	for _, n := range m.Notifiers[1:] {
		check(n.String(), n.Settings, settings[n.Driver])
	}
	check("the number of notifiers", len(m.Notifiers), 1+len(settings))
}

// TestComplaints: each mistake is reported with its place, as line:column: message, and with its
// fix.
func TestComplaints(t *testing.T) {
	const after = 5 // the first line after minimal
	for _, c := range []struct{ rule, text, want string }{
		{"an unknown key", "[agents]\n", "1:2: unknown key agents"},
		{"an unknown key in a table", "[security]\nnetwrok = \"deny\"\n", `2:1: unknown key security.netwrok; did you mean "network"?`},
		{"no command", "", `1:1: run.command: is required`},
		{"a negative number of attempts", "[defaults]\nmax_retries = -1\n", "2:15: defaults.max_retries: -1 is out of range; write a number from 0 to 100"},
		{"too many retries", "[defaults]\nmax_retries = 101\n", "2:15: defaults.max_retries: 101 is out of range; write a number from 0 to 100"},
		{"a backoff that is not a list", "[defaults]\nretry_backoff_minutes = 5\n", "2:25: defaults.retry_backoff_minutes: must be an array, got a whole number"},
		{"a backoff below zero", "[defaults]\nretry_backoff_minutes = [5, -1]\n", "2:29: defaults.retry_backoff_minutes[1]: -1 is out of range; write a number from 0 to 527040"},
		{"a variable without a name", "[env.extra]\n\"a=b\" = \"c\"\n", `2:9: env.extra."a=b": cannot be the name of a variable`},
		{"a variable that is a number", "[env.extra]\nA = 1\n", "2:5: env.extra.A: must be a string, got a whole number"},

		{"a schedule without id", "[[schedules]]\ntype = \"interval\"\ninterval_minutes = 1\n", "1:3: schedules[0].id: is required"},
		{"a schedule without type", "[[schedules]]\nid = \"s\"\n", "1:3: schedules[0].type: is required"},
		{"an unknown type", "[[schedules]]\nid = \"s\"\ntype = \"intervall\"\n", `3:8: schedules[0].type: must be one of cron, interval, expression, got "intervall"; did you mean "interval"?`},
		{"an id that is taken", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 1\n[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 1\n",
			`6:6: schedules[1].id: "s" is taken by schedules[0]`},
		{"an id with a slash", "[[schedules]]\nid = \"a/b\"\ntype = \"interval\"\ninterval_minutes = 1\n", `2:6: schedules[0].id: "a/b" cannot be a name`},
		{"an interval of zero", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 0\n", "4:20: schedules[0].interval_minutes: 0 is out of range; write a number from 1 to 527040"},
		{"no interval", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\n", "1:3: schedules[0].interval_minutes: is required"},
		{"a key of another type", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 1\nhours = [1]\n", "5:1: unknown key schedules[0].hours"},
		{"no hours", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\n", "1:3: schedules[0].hours: is required"},
		{"an empty list of hours", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = []\n", "4:9: schedules[0].hours: an empty list means never"},
		{"an empty list of weekdays", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = [1]\nweekdays = []\n", "5:12: schedules[0].weekdays: an empty list means never"},
		{"a day beyond the week", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = [1]\nweekdays = [0, 7]\n", "5:16: schedules[0].weekdays[1]: 7 is out of range; write a number from 0 to 6"},
		{"an hour beyond the day", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = [24]\n", "4:10: schedules[0].hours[0]: 24 is out of range; write a number from 0 to 23"},
		{"a minute beyond the hour", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = [1]\nminute = 60\n", "5:10: schedules[0].minute: 60 is out of range; write a number from 0 to 59"},
		{"an unknown zone", "[[schedules]]\nid = \"s\"\ntype = \"cron\"\nhours = [1]\ntimezone = \"Europe/Bonn\"\n", `5:12: schedules[0].timezone: "Europe/Bonn" is not a time zone known here`},
		{"an argument that is a number", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 1\nargs = [\"a\", 1]\n", "5:14: schedules[0].args[1]: must be a string, got a whole number"},

		{"a hook without plugin", "[[preflight]]\n", "1:3: preflight[0].plugin: is required"},
		{"a plugin that is a path", "[[on_success]]\nplugin = \"../x\"\n", `2:10: on_success[0].plugin: "../x" cannot be a plugin's name`},
		{"a zero byte in an argument", "[[schedules]]\nid = \"s\"\ntype = \"interval\"\ninterval_minutes = 1\nargs = [\"\\u0000\"]\n", "5:9: schedules[0].args[0]: must not contain a zero byte"},
		{"a zero byte in a variable", "[env.extra]\nA = \"\\u0000\"\n", "2:5: env.extra.A: must not contain a zero byte"},
		{"a zero byte in a path", "[security]\nfilesystem_writable = [\"\\u0000\"]\n", "2:24: security.filesystem_writable[0]: must not contain a zero byte"},
		{"an unknown event", "[[on_failure]]\nplugin = \"p\"\nevents = [\"given_up\", \"recoverd\"]\n", `3:23: on_failure[0].events[1]: "recoverd" is not an event; did you mean "recovered"?`},
		{"a config that is not a table", "[[preflight]]\nplugin = \"p\"\nconfig = 1\n", "3:10: preflight[0].config: must be a table, got a whole number"},
		{"a config that JSON cannot express", "[[preflight]]\nplugin = \"p\"\nconfig = { a = nan }\n", "3:10: preflight[0].config: NaN has no counterpart in JSON"},

		{"a notifier without driver", "[[notifiers]]\n", "1:3: notifiers[0].driver: is required"},
		{"an unknown driver", "[[notifiers]]\ndriver = \"slak\"\n", `2:10: notifiers[0].driver: "slak" is not a driver; did you mean "slack"?`},
		{"a key of another driver", "[[notifiers]]\ndriver = \"desktop\"\ntopic = \"t\"\n", "3:1: unknown key notifiers[0].topic"},
		{"an unknown urgency", "[[notifiers]]\ndriver = \"desktop\"\nurgency = \"hihg\"\n", `3:11: notifiers[0].urgency: must be one of low, normal, critical, got "hihg"`},
		{"a webhook that is not an address", "[[notifiers]]\ndriver = \"slack\"\nwebhook_url = \"hunter2\"\n", "3:15: notifiers[0].webhook_url: not a web address; write https://HOST…"},
		{"a priority off the scale", "[[notifiers]]\ndriver = \"ntfy\"\ntopic = \"t\"\npriority = 6\n", "4:12: notifiers[0].priority: 6 is out of range; write a number from 1 to 5"},
		{"no chat", "[[notifiers]]\ndriver = \"telegram\"\nbot_token = \"${T}\"\n", "1:3: notifiers[0].chat_id: is required"},
		{"pushover without a token", "[[notifiers]]\ndriver = \"pushover\"\nuser = \"${U}\"\n", "1:3: notifiers[0].token: is required"},
		{"a rate below zero", "[[notifiers]]\ndriver = \"desktop\"\nrate_limit_minutes = -1\n", "3:22: notifiers[0].rate_limit_minutes: -1 is out of range; write a number from 0 to 527040"},

		{"an unknown network policy", "[security]\nnetwork = \"maybe\"\n", `2:11: security.network: must be one of allow, deny, got "maybe"`},
		{"a host that is an address", "[security]\nnetwork = [\"https://example.com/\"]\n", `2:12: security.network[0]: "https://example.com/": want a host`},
		{"a value in env_passthrough", "[security]\nenv_passthrough = [\"A=b\"]\n", `2:20: security.env_passthrough[0]: "A=b": want a variable's name or a glob, not a value`},
		{"a preflight that allowed_plugins leaves out", "[[preflight]]\nplugin = \"p\"\n[security]\nallowed_plugins = [\"q\"]\n",
			`2:10: preflight[0].plugin: security.allowed_plugins does not list "p"; add it there, or remove it here`},
		{"a notifier that allowed_plugins leaves out", "[[notifiers]]\ndriver = \"plugin\"\nname = \"p\"\n[security]\nallowed_plugins = [\"q\"]\n",
			`3:8: notifiers[0].name: security.allowed_plugins does not list "p"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			base, lines := minimal, after-1
			if c.text == "" {
				base, lines = "[agent]\nname = \"a\"\n", 0
			}
			_, err := Parse(testPath(), []byte(base+c.text))
			var e *document.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			p := e.Problems[0]
			fix := ""
			if p.Fix != "" {
				fix = "; " + p.Fix
			}
			got := fmt.Sprintf("%d:%d: %s%s", p.Line-lines, p.Column, p.Message, fix)
			if !strings.HasPrefix(got, c.want) || len(e.Problems) > 1 {
				t.Errorf("got  %s\nwant %s\nall: %v", got, c.want, err)
			}
			if p.Fix == "" || strings.Contains(p.Message, p.Fix) {
				t.Errorf("the fix is missing, or the message contains it: %q, %q", p.Message, p.Fix)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret is in %v", err)
			}
		})
	}
}

func TestAllComplaintsAtOnce(t *testing.T) {
	_, err := Parse(testPath(), []byte("[agent]\nname = \"a/b\"\n[run]\n[[schedules]]\n[[notifiers]]\ndriver = \"x\"\n"))
	var e *document.Error
	if !errors.As(err, &e) || len(e.Problems) != 5 {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "A1": true, "my-agent": true, "a.b_c": true, strings.Repeat("x", 64): true, "con": true,
		"": false, ".": false, "..": false, ".a": false, "a.": false, "-a": false, "_a": false, "a/b": false, "a\\b": false,
		"a b": false, "a\n": false, "ä": false, "a:b": false, strings.Repeat("x", 65): false,
	} {
		_, err := Parse(testPath(), fmt.Appendf(nil, "[agent]\nname = %q\n[run]\ncommand = \"c\"\n", name))
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSlug(t *testing.T) {
	slugs := make(map[string]string)
	for _, name := range []string{"my-agent", "My-Agent", "MY-AGENT", "nul", "nul.x", "com1", "a.b"} {
		m := &Manifest{Agent: Agent{Name: name}}
		slug := m.Slug()
		if other, taken := slugs[slug]; taken {
			t.Errorf("%q and %q are both %q", name, other, slug)
		}
		slugs[slug] = name
		if slug != strings.ToLower(slug) || reserved(slug) {
			t.Errorf("%q has the slug %q", name, slug)
		}
	}
	if slugs["my-agent"] != "my-agent" || slugs["a.b"] != "a.b" {
		t.Errorf("a plain name is not its own slug: %v", slugs)
	}
}

// TestCommands: which program a command starts, and whether allowed_commands allows it.
func TestCommands(t *testing.T) {
	dir := filepath.Dir(testPath())
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, c := range []struct{ rule, command, allowed, want string }{
		{"a bare name is left to $PATH", "fish", ``, "fish"},
		{"a relative path is relative to the manifest", "./agent.sh", ``, filepath.Join(dir, "agent.sh")},
		{"a relative path without a dot, too", "bin/agent", ``, filepath.Join(dir, "bin", "agent")},
		{"~ is home", "~/bin/agent", ``, filepath.Join(home, "bin", "agent")},
		{"an allowed name", "fish", `"bash", "fish"`, "fish"},
		{"an allowed path, however written", "./x/../agent.sh", `"agent.sh", "./agent.sh"`, filepath.Join(dir, "agent.sh")},
		{"an allowed name does not allow a file of that name", "./fish", `"fish"`, ""},
		{"an allowed file does not allow a name", "fish", `"./fish"`, ""},
		{"a command that is not in the list", "fish", `"bash"`, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m, err := Parse(testPath(), fmt.Appendf(nil, "[agent]\nname = \"a\"\n[run]\ncommand = %q\n[security]\nallowed_commands = [%s]\n", c.command, c.allowed))
			switch {
			case c.want == "" && (err == nil || !strings.Contains(err.Error(), ":4:11: run.command: security.allowed_commands does not list")):
				t.Errorf("got %v", err)
			case c.want != "" && (err != nil || m.Run.Command != c.want):
				t.Errorf("got %v, %v", m, err)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	for text, want := range map[string]Network{
		``:                     {},
		`network = "allow"`:    {},
		`network = "deny"`:     {Restricted: true},
		`network = []`:         {Restricted: true, Hosts: []string{}},
		`network = ["a", "b"]`: {Restricted: true, Hosts: []string{"a", "b"}},
	} {
		if m := parse(t, minimal+"[security]\n"+text+"\n"); !reflect.DeepEqual(m.Security.Network, want) {
			t.Errorf("%s: got %+v", text, m.Security.Network)
		}
	}
}

// TestNotifierIsNotShown: printing a manifest does not show the secrets of its notifiers.
func TestNotifierIsNotShown(t *testing.T) {
	m := parse(t, minimal+"[env.extra]\nKEY = \"hunter2\"\n[[notifiers]]\ndriver = \"telegram\"\nbot_token = \"hunter2\"\nchat_id = \"1\"\n")
	encoded, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(encoded), fmt.Sprint(m.Notifiers), fmt.Sprintf("%+v", m.Notifiers[0])} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("it is in %s", shown)
		}
	}
}

// TestVariables: a setting that contains a variable is not checked, because its value is known only
// when a message is sent.
func TestVariables(t *testing.T) {
	m := parse(t, minimal+"[[notifiers]]\ndriver = \"desktop\"\nurgency = \"${URGENCY}\"\n[[notifiers]]\ndriver = \"ntfy\"\ntopic = \"t\"\nbase_url = \"${NTFY}\"\n")
	if m.Notifiers[0].Settings["urgency"] != "${URGENCY}" || m.Notifiers[1].Settings["base_url"] != "${NTFY}" {
		t.Errorf("got %v, %v", m.Notifiers[0].Settings, m.Notifiers[1].Settings)
	}
}

func TestWants(t *testing.T) {
	some := Hook{Events: []Event{RunGivenUp}}
	if !some.Wants(RunGivenUp) || some.Wants(Success) || !(Hook{}).Wants(Success) {
		t.Error("Wants of a hook is wrong")
	}
	if n := (Notifier{Events: []Event{RunGivenUp}}); !n.Wants(RunGivenUp) || n.Wants(Success) || !(Notifier{}).Wants(GoneStale) {
		t.Error("Wants of a notifier is wrong")
	}
}

func TestProblem(t *testing.T) {
	m := parse(t, minimal+"[[preflight]]\nplugin = \"p\"\n")
	got := m.Problem(m.Preflight[0].At, "no such plugin", "install it").String()
	if want := testPath() + ":5:3: preflight[0]: no such plugin; install it"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzParse: no manifest makes the parser panic or hang, and a manifest that is accepted can be
// used.
func FuzzParse(tf *testing.F) {
	f := variants.Of(tf)
	full, err := os.ReadFile(filepath.Join("testdata", "full.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	f.Add(minimal)
	f.Add(minimal + "schedules = 1\n")
	f.Add(minimal + "[[schedules]]\nid='s'\ntype='expression'\nexpression='TZ= * * * * *'\n")
	f.Add(minimal + "[[notifiers]]\ndriver='plugin'\nname='n'\nconfig={a=1979-05-27}\n")
	f.Add("agent = [[]]\nrun = {command = {}}\n")
	start := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(testPath(), []byte(text))
		if err != nil {
			return
		}
		if m.Agent.Name == "" || m.Run.Command == "" || !filepath.IsAbs(m.Run.WorkingDir) || m.Slug() == "" {
			t.Errorf("got %+v", m)
		}
		for i := range m.Schedules {
			s := &m.Schedules[i]
			if next := s.Next(start); !next.After(start) || s.Retry.Attempts < 1 || s.Slug() == "" {
				t.Errorf("%s: the next tick is %s", s.ID, next)
			}
		}
	})
}
