package dotagent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestOpen: opening calls info and validate, firing calls invoke, and nothing else is called.
func TestOpen(t *testing.T) {
	r := fake(t, "ok")
	r.settings.Config = json.RawMessage(`{"page":"today"}`)
	p := r.open()
	info := p.Info()
	if info.Name != "ok" || info.Version != "1.2.3" || strings.Join(info.Kinds, " ") != "preflight sink notify" || info.Priority != hook.DefaultPriority {
		t.Errorf("info %+v", info)
	}
	if st := p.Status(); st.Health != "ok" || st.Err != nil || st.Pid != 0 {
		t.Errorf("status %+v", st)
	}
	out := fire(t, hook.JobSink, `{"agent":"a","schedule":"s","message":"m"}`, p.Hooks()...)
	if err := step(t, out).Err; err != nil {
		t.Error(err)
	}
	want := []string{"info ", `validate {"page":"today"}`,
		`invoke {"kind":"sink","agent":"a","schedule":"s","event":"success","message":"m","config":{"page":"today"}}`}
	if got := plugtest.Recorded(t, r.home); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOpenFailures(t *testing.T) {
	for _, c := range []struct{ behaviour, want string }{
		{"info-crash", "plugin info-crash failed (exit 3): no licence"},
		{"info-error", "plugin info-error failed (exit 1): no licence for this host"},
		{"info-sorry", `info has no name: it says "no licence"`},
		{"info-garbage", `info is not a JSON object: "hello"`},
		{"info-empty", "info is empty"},
		{"info-kind", `unknown kind "notifier"`},
		{"info-other", "unsupported on"},
		{"info-hang", "plugin info-hang.info exceeded its time — killed"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			r := fake(t, c.behaviour)
			if c.behaviour == "info-hang" {
				r.dialect.info = 300 * time.Millisecond
			}
			if _, err := r.try(); err == nil || !strings.Contains(untimed(err.Error()), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// untimed removes the time from the message of a timeout. On a busy machine, less of it is left
// when the call begins. TestExceeded checks the times.
func untimed(message string) string {
	return regexp.MustCompile(`exceeded -?[0-9.]+s`).ReplaceAllString(message, "exceeded its time")
}

// TestConfig: a config is checked against the schema, then with validate:
// docs/protocols/dotagent.md, row D29.
func TestConfig(t *testing.T) {
	for _, c := range []struct{ rule, behaviour, config, want, calls string }{
		{"a config that fits the schema", "needy", `{"page":"today"}`, "", "info validate"},
		{"a config that does not fit: validate is not run", "needy", `{"page":7}`, "its config in [plugins.needy] does not fit its schema: config.page: must be of type string, is number", "info"},
		{"validate refuses the config", "picky", `{"page":"x"}`, "it refuses its config in [plugins.picky]: no such page", "info validate"},
		{"validate fails", "validate-exit", `{}`, "plugin validate-exit failed (exit 2): cannot read config", "info validate"},
		{"validate hangs", "validate-hang", `{}`, "plugin validate-hang.validate exceeded its time — killed", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			r := fake(t, c.behaviour)
			r.settings.Config = json.RawMessage(c.config)
			if c.behaviour == "validate-hang" {
				r.dialect.validate = 500 * time.Millisecond
			}
			_, err := r.try()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(untimed(err.Error()), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			var verbs []string
			for _, call := range plugtest.Recorded(t, r.home) {
				verb, _, _ := strings.Cut(call, " ")
				verbs = append(verbs, verb)
			}
			if got := strings.Join(verbs, " "); got != c.calls && c.calls != "" {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
		})
	}
}

// TestNoConfig: a plugin that needs a config and has none is ready, because jobs send one. Its
// health says so.
func TestNoConfig(t *testing.T) {
	for behaviour, why := range map[string]string{"needy": "config.page: is required", "picky": "no such page"} {
		t.Run(behaviour, func(t *testing.T) {
			r := fake(t, behaviour)
			p := r.open()
			if st := p.Status(); !strings.HasPrefix(st.Health, "ok; it has no config of its own") || st.Err != nil || !strings.Contains(st.Health, why) {
				t.Errorf("status %+v", st)
			}
			out := fire(t, hook.JobSink, `{"config":{"page":"from the job"}}`, p.Hooks()...)
			if err := step(t, out).Err; err != nil {
				t.Error(err)
			}
			all := plugtest.Recorded(t, r.home)
			if last := all[len(all)-1]; !strings.Contains(last, `"config":{"page":"from the job"}`) {
				t.Errorf("sent %s", last)
			}
		})
	}
	t.Run("the config of a job can be checked", func(t *testing.T) {
		p := fake(t, "needy").open()
		if err := p.CheckConfig(t.Context(), json.RawMessage(`{"page":"today"}`)); err != nil {
			t.Error(err)
		}
		if err := p.CheckConfig(t.Context(), json.RawMessage(`{"page":1}`)); err == nil {
			t.Error("a wrong config passed")
		}
	})
	t.Run("the fix of a wrong config", func(t *testing.T) {
		r := fake(t, "needy")
		r.settings.Config = json.RawMessage(`{"page":7}`)
		_, own := r.try()
		for where, err := range map[string]error{
			"correct config in [plugins.needy] of config.toml: ": own,
			"correct its config: ":                               fake(t, "needy").open().CheckConfig(t.Context(), json.RawMessage(`{"page":7}`)),
			"/dotagent-plugin-validate-exit validate`, with this config as JSON on stdin, must print": fake(t, "validate-exit").open().CheckConfig(t.Context(), json.RawMessage(`{"a":1}`)),
			"/dotagent-plugin-validate-exit validate` must print":                                     fake(t, "validate-exit").open().CheckConfig(t.Context(), json.RawMessage(`{}`)),
		} {
			if bad, ok := errors.AsType[*configError](err); !ok || !strings.Contains(bad.Fix(), where) {
				t.Errorf("%v: want the fix %q", err, where)
			}
		}
	})
	t.Run("a validate that hangs is reported", func(t *testing.T) {
		r := fake(t, "validate-hang")
		r.dialect.validate = 500 * time.Millisecond
		var told []string
		r.rt.Note = func(p dialect.Problem, unusable bool) {
			if unusable {
				told = append(told, untimed(p.Message))
			}
		}
		p := r.open()
		if want := []string{"plugin validate-hang.validate exceeded its time — killed"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		err := p.CheckConfig(t.Context(), json.RawMessage(`{}`))
		if bad, ok := errors.AsType[*configError](err); !ok || bad.Fix() != "correct the plugin: it must answer validate at once" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a missing config is sent as an empty object", func(t *testing.T) {
		r := fake(t, "ok")
		r.open()
		if got := plugtest.Recorded(t, r.home)[1]; got != "validate {}" {
			t.Errorf("got %q", got)
		}
	})
}

// TestAPluginWithoutKinds: a plugin without kinds is called only if a job or a connection names it.
func TestAPluginWithoutKinds(t *testing.T) {
	p := fake(t, "info-bare").open()
	hooks := p.Hooks()
	var bus hook.Bus
	for i := range hooks {
		hooks[i].Plugin, hooks[i].Dialect = "info-bare", Name
	}
	if err := bus.Set(hooks); err != nil {
		t.Fatal(err)
	}
	out, err := bus.Fire(t.Context(), hook.JobSink, nil)
	if err != nil || len(out.Steps) != 0 || bus.Wants(hook.JobSink, nil) {
		t.Errorf("not named by a job, it was called: %+v, %v", out, err)
	}
	named := hook.WithChoice(t.Context(), hook.Choice{Dialect: Name, Plugins: []string{"info-bare"}, Only: true})
	if out, err = bus.Fire(named, hook.JobSink, nil); err != nil || step(t, out).Hook != kindSink || step(t, out).Err != nil {
		t.Errorf("named in a list of sinks, it was not called as a sink: %+v, %v", out, err)
	}
	h, err := p.Connect(kindNotify, hook.JobNotify)
	if err != nil {
		t.Fatal(err)
	}
	if s := step(t, fire(t, hook.JobNotify, `{}`, h)); s.Err != nil || s.Hook != "notify" {
		t.Errorf("step %+v", s)
	}
}

// TestNotFound: a call of a plugin whose file was removed fails with the message of
// docs/protocols/dotagent.md, row D34.
func TestNotFound(t *testing.T) {
	r := fake(t, "ok")
	p := r.open()
	if err := os.Remove(p.path); err != nil {
		t.Fatal(err)
	}
	s := step(t, fire(t, hook.JobNotify, `{}`, p.Hooks()...))
	if !errors.Is(s.Err, hook.Unavailable) || s.Err.Err.Error() != "plugin not found: ok" {
		t.Errorf("error %v", s.Err)
	}
	found := dialect.Found{Dialect: Name, Name: "ok", Path: p.path}
	if _, err := r.dialect.Open(t.Context(), found, dialect.Settings{}, r.rt); err == nil || err.Error() != "plugin not found: ok" {
		t.Errorf("error %v", err)
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	r := fake(t, "ok")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.dialect.Open(ctx, r.dialect.Find(r.rt.Env)[0], dialect.Settings{}, r.rt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestEnvironment: a plugin gets the environment of docs/protocols/dotagent.md, row D43.
func TestEnvironment(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for _, c := range []struct {
		rule         string
		passed       []string
		sees, hidden string
	}{
		{"everything but secrets", nil, "HOME PATH NOTION_API_KEY AWS_PROFILE",
			"PATCHBAY_TOKEN ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY"},
		{"an empty list narrows it", []string{}, "HOME PATH", "NOTION_API_KEY AWS_PROFILE PATCHBAY_TOKEN OPENAI_API_KEY"},
		{"a list narrows it", []string{"AWS_*"}, "HOME PATH AWS_PROFILE", "NOTION_API_KEY PATCHBAY_TOKEN OPENAI_API_KEY"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			script(t, r.home, "env", `#!/bin/sh
case $1 in
info) echo '{"name":"env","kinds":["notify"]}' ;;
validate) echo '{"ok":true}' ;;
invoke) env | sed 's/=.*//' >"$HOME/vars"; echo '{"ok":true}' ;;
esac
`)
			for _, name := range strings.Fields("NOTION_API_KEY AWS_PROFILE PATCHBAY_TOKEN ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY") {
				r.rt.Env.Vars = append(r.rt.Env.Vars, name+"=hunter2")
			}
			r.settings.Env = c.passed
			fire(t, hook.JobNotify, `{}`, r.open().Hooks()...)
			data, err := os.ReadFile(filepath.Join(r.home, "vars"))
			if err != nil {
				t.Fatal(err)
			}
			vars := " " + strings.Join(strings.Fields(string(data)), " ") + " "
			for _, name := range strings.Fields(c.sees) {
				if !strings.Contains(vars, " "+name+" ") {
					t.Errorf("the plugin does not see %s", name)
				}
			}
			for _, name := range strings.Fields(c.hidden) {
				if strings.Contains(vars, " "+name+" ") {
					t.Errorf("the plugin sees %s", name)
				}
			}
		})
	}
}

func TestTheLastVariableOfANameCounts(t *testing.T) {
	got := environment(dialect.Env{Vars: []string{"A=1", "B=2", "A=3"}}, nil)
	if strings.Join(got, " ") != "A=3 B=2" {
		t.Errorf("got %q", got)
	}
}
