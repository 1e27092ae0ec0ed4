package mine

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestStages: each stage is called at its point, with its mode: docs/protocols/mine.md, row M32.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		stage, mode string
		point       hook.Point
	}{
		{"prevalidate", "transform", hook.CommandValidate},
		{"preexec", "transform", hook.CommandBefore},
		{"postexec", "transform", hook.CommandAfter},
		{"notify", "notify", hook.CommandDone},
	} {
		t.Run(c.stage, func(t *testing.T) {
			t.Parallel()
			r, p := openFake(t, "p")
			out := fired(t, c.point, `{"command":"todo.add","args":["buy milk"],"flags":{"due":"tomorrow"},"result":{"n": 1},"timestamp":"2026-01-15T10:30:00Z"}`, p.Hooks()...)
			want := `{"protocol_version":"1.0.0","type":"hook","stage":"` + c.stage + `","mode":"` + c.mode + `","context":{"command":"todo.add","args":["buy milk"],` +
				`"flags":{"due":"tomorrow"},"result":{"n":1},"timestamp":"2026-01-15T10:30:00Z"}}`
			if got := r.hookCalls(); len(got) != 1 || got[0] != want {
				t.Errorf("sent\n%s, want\n%s", strings.Join(got, "\n"), want)
			}
			s := out.Steps[0]
			if s.Hook != c.stage || string(s.Sent) != want || s.Err != nil || s.Changed != (c.mode == "transform") {
				t.Errorf("step %+v", s)
			}
			if seen := strings.Contains(string(out.Payload), `"seen":"p"`); seen != (c.mode == "transform") {
				t.Errorf("payload %s", out.Payload)
			}
			if (s.Received == nil) != (c.mode == "notify") {
				t.Errorf("received %s", s.Received)
			}
		})
	}
}

// TestContext: an event is shown as the context of docs/protocols/mine.md, row M34.
func TestContext(t *testing.T) {
	for _, c := range []struct{ rule, payload, want string }{
		{"missing fields are empty, and a missing result is null", `{}`, `{"command":"","args":[],"flags":{},"result":null,"timestamp":"NOW"}`},
		{"flags map string to string", `{"command":"c","flags":{"n":5,"b":true,"s":"x","o":{"a": 1},"z":null}}`,
			`{"command":"c","args":[],"flags":{"n":"5","b":"true","s":"x","o":"{\"a\":1}","z":""},"result":null,"timestamp":"NOW"}`},
		{"args are strings", `{"command":"c","args":["a",1,null]}`, `{"command":"c","args":["a","1",""],"flags":{},"result":null,"timestamp":"NOW"}`},
		{"timestamps are UTC", `{"timestamp":"2026-01-15T11:30:00+01:00"}`, `{"command":"","args":[],"flags":{},"result":null,"timestamp":"2026-01-15T10:30:00Z"}`},
		{"an invalid timestamp is replaced by the current time", `{"timestamp":"yesterday"}`, `{"command":"","args":[],"flags":{},"result":null,"timestamp":"NOW"}`},
		{"other fields of the event are not sent", `{"command":"c","session":"s"}`, `{"command":"c","args":[],"flags":{},"result":null,"timestamp":"NOW"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o, err := rawjson.Parse([]byte(c.payload))
			if err != nil {
				t.Fatal(err)
			}
			shown := ofCommand(o)
			if shown.timestamp == "" {
				shown.timestamp = "NOW"
			}
			if got := string(shown.object().JSON()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("now is RFC 3339 UTC", func(t *testing.T) {
		r, p := openFake(t, "p")
		fired(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...)
		stamp := regexp.MustCompile(`"timestamp":"(.*?)"`).FindStringSubmatch(r.hookCalls()[0])
		if at, err := time.Parse(time.RFC3339, stamp[1]); err != nil || !strings.HasSuffix(stamp[1], "Z") || time.Since(at) > time.Hour {
			t.Errorf("timestamp %q", stamp[1])
		}
	})
}

// TestReplies: the context in a reply sets fields of the payload: docs/protocols/mine.md, row M35.
func TestReplies(t *testing.T) {
	const payload = `{"command":"todo.add","args":["a"],"flags":{"n":5,"b":true,"s":"x"},"timestamp":"2026-01-15T10:30:00Z"}`
	for _, c := range []struct{ rule, reply, set string }{
		{"a reply without context", `{"status":"ok"}`, `{}`},
		{"a context of null", `{"status":"ok","context":null}`, `{}`},
		{"empty stdout", " \n", `{}`},
		{"an empty context", `{"status":"ok","context":{}}`, `{}`},
		{"no status is ok", `{"context":{"command":"x"}}`, `{"command":"x"}`},
		{"an unchanged context", `{"status":"ok","context":{"command":"todo.add","args":["a"],"flags":{"n":"5","b":"true","s":"x"},"result":null}}`, `{}`},
		{"an unchanged context with other escapes and order", `{"status":"ok","context":{"command":"todo.\u0061dd","args":["\u0061"],"flags":{"s":"\u0078","b":"true","n":"5"}}}`, `{}`},
		{"another command", `{"status":"ok","context":{"command":"todo.edit"}}`, `{"command":"todo.edit"}`},
		{"other args", `{"status":"ok","context":{"args":["a","b"]}}`, `{"args":["a","b"]}`},
		{"no args", `{"status":"ok","context":{"args":[]}}`, `{"args":[]}`},
		{"another flag: the others keep their types", `{"status":"ok","context":{"flags":{"n":"5","b":"true","s":"x","tags":"t"}}}`,
			`{"flags":{"n":5,"b":true,"s":"x","tags":"t"}}`},
		{"a changed flag keeps its type", `{"status":"ok","context":{"flags":{"n":"7","b":"false","s":"8"}}}`, `{"flags":{"n":7,"b":false,"s":"8"}}`},
		{"a changed flag whose text does not fit its type becomes a string", `{"status":"ok","context":{"flags":{"n":"many","b":"0","s":"x"}}}`, `{"flags":{"n":"many","b":"0","s":"x"}}`},
		{"a flag that is gone", `{"status":"ok","context":{"flags":{"s":"x"}}}`, `{"flags":{"s":"x"}}`},
		{"no flags", `{"status":"ok","context":{"flags":{}}}`, `{"flags":{}}`},
		{"a flag that is not a string", `{"status":"ok","context":{"flags":{"n":5,"b":true,"s":"x","k":[1]}}}`, `{"flags":{"n":5,"b":true,"s":"x","k":"[1]"}}`},
		{"a result", `{"status":"ok","context":{"result":{"id": 7}}}`, `{"result":{"id":7}}`},
		{"a plugin cannot change the timestamp", `{"status":"ok","context":{"timestamp":"2030-01-01T00:00:00Z"}}`, `{}`},
		{"unknown fields are ignored", `{"status":"ok","note":1,"context":{"mood":"good"}}`, `{}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o, err := rawjson.Parse([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			changed, err := parseReply([]byte(c.reply))
			if err != nil {
				t.Fatal(err)
			}
			set := hook.Object{}
			if changed != nil {
				shown := ofCommand(o)
				set, _ = toCommand(o, &shown, changed)
			}
			if got := string(set.JSON()); got != c.set {
				t.Errorf("got  %s\nwant %s", got, c.set)
			}
		})
	}
}

func TestGarbledReplies(t *testing.T) {
	for _, reply := range []string{
		`hello`, `[]`, `"ok"`, `{"status":"ok"`, `{"status":"ok"} {"status":"ok"}`, `{"status":7}`, `{"status":"fine"}`,
		`{"status":"ok","context":[]}`, `{"context":{"command":7}}`, `{"context":{"args":"a"}}`, `{"context":{"args":[1]}}`, `{"context":{"args":["a",null]}}`,
		`{"context":{"flags":["a"]}}`, `{"context":{"flags":{"n":null}}}`,
	} {
		if _, err := parseReply([]byte(reply)); err == nil || !strings.Contains(err.Error(), "parse error") {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

// TestARefusalWithoutAStatus: an error object refuses the command with exit code 0 too, also if it
// lacks its status: docs/protocols/mine.md, row M47.
func TestARefusalWithoutAStatus(t *testing.T) {
	for _, reply := range []string{`{"error":"no"}`, `{"ok":false,"error":"no"}`, `{"Status":"error","error":"no","context":{}}`} {
		if _, err := parseReply([]byte(reply)); !errors.Is(err, hook.Refused) || !strings.Contains(err.Error(), "no") {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

// TestNulls: null in place of a value is an error, and so is an empty command, because the host
// cannot know whether the plugin means an empty value or an unchanged one: docs/protocols/mine.md,
// row M65.
func TestNulls(t *testing.T) {
	const full = `{"command":"c","tool":"t","args":["a"],"flags":{"n":5},"result":"r","arguments":{"n":5},"text":"x"}`
	for _, c := range []struct {
		rule, context string
		point         hook.Point
		payload, err  string
	}{
		{"command", `{"command":null}`, hook.CommandBefore, full, "context.command is null: leave it out to keep it"},
		{"args", `{"args":null}`, hook.CommandBefore, full, "context.args is null: leave it out to keep it, or write [] for none"},
		{"flags", `{"flags":null}`, hook.CommandValidate, full, "context.flags is null: leave it out to keep it, or write {} for none"},
		{"one flag", `{"flags":{"n":null}}`, hook.CommandBefore, full, `context.flags has null for "n": write "" for an empty value, or leave the flag out`},
		{"the result of an embedding program", `{"result":null}`, hook.CommandAfter, full, `context.result is null: leave it out to keep it, or write "" for no output`},
		{"an empty command", `{"command":""}`, hook.CommandBefore, full, `context.command is "": leave it out to keep it`},
		{"two commands", `{"command":"c","command":"d"}`, hook.CommandBefore, full, `context: the field "command" has two values`},
		{"two values of a flag", `{"flags":{"n":"1","n":"2"}}`, hook.CommandBefore, full, `context.flags: the field "n" has two values`},
		{"two outputs", `{"result":{"stdout":"a","stdout":"b"}}`, hook.CommandAfter, `{"command":"c","result":{"stdout":"","stderr":"","exit_code":0}}`,
			`context.result: the field "stdout" has two values`},
		{"null as it was sent", `{"result":null}`, hook.CommandBefore, `{"command":"c"}`, ""},
		{"null where there is nothing", `{"args":null,"flags":null}`, hook.CommandBefore, `{"command":"c"}`, ""},
		{"an empty command that has run", `{"command":""}`, hook.CommandAfter, full, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			out, err := fire(t, c.point, c.payload, answering(t, `{"status":"ok","context":`+c.context+`}`).Hooks()...)
			if c.err == "" {
				if err != nil || out.Steps[0].Changed {
					t.Errorf("%v, payload %s", err, out.Payload)
				}
				return
			}
			if !errors.Is(err, hook.Garbled) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %s", err, c.err)
			}
		})
	}
}

// TestPatternsDecideWhichHooksAreCalled: a hook whose pattern does not match is not called, and no
// process is started.
func TestPatternsDecideWhichHooksAreCalled(t *testing.T) {
	r := newRig(t)
	r.fake("p", "[[hooks]]\ncommand=\"todo.*\"\nstage=\"preexec\"\nmode=\"transform\"\n")
	p := r.open()[0]
	out := fired(t, hook.CommandBefore, `{"command":"build"}`, p.Hooks()...)
	if len(out.Steps) != 0 || out.Verdict != hook.Continue {
		t.Errorf("steps %+v", out.Steps)
	}
	if calls := r.hookCalls(); len(calls) != 0 {
		t.Errorf("calls %q", calls)
	}
	out = fired(t, hook.CommandBefore, `{"command":"todo.list.all"}`, p.Hooks()...)
	if !out.Steps[0].Changed || len(r.hookCalls()) != 1 {
		t.Errorf("step %+v", out.Steps[0])
	}
	for _, unknown := range []string{`{"Command":"todo.list"}`, `{"command":["todo.list"]}`} {
		if out = fired(t, hook.CommandBefore, unknown, p.Hooks()...); len(out.Steps) != 1 {
			t.Errorf("%s: the hook is not called, and its command is not known", unknown)
		}
	}
}

// TestAHookCannotHideACommand: a command that a hook changes to a path keeps its name for the hooks
// that follow, and a command that has run keeps it anyway: docs/protocols/mine.md, row M64.
func TestAHookCannotHideACommand(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		point         hook.Point
		answer        string
		shown, runs   string
	}{
		{"an absolute path", "ls", hook.CommandBefore, "/bin/rm", "rm", "/bin/rm"},
		{"a path below the directory", "ls", hook.CommandBefore, "./bin/rm", "rm", "./bin/rm"},
		{"before the arguments are parsed", "ls", hook.CommandValidate, "/bin/rm", "rm", "/bin/rm"},
		{"another name", "ls", hook.CommandBefore, "rm", "rm", "rm"},
		{"a command that has run", "rm", hook.CommandAfter, "ls", "rm", "rm"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			hooks := answering(t, `{"status":"ok","context":{"command":"`+c.answer+`"}}`).Hooks()
			guard := newRig(t)
			guard.fake("p", strings.ReplaceAll(everyStage, `"*"`, `"rm"`))
			for _, h := range guard.open()[0].Hooks() {
				h.Position = 1
				hooks = append(hooks, h)
			}
			out := fired(t, c.point, `{"command":"`+c.command+`"}`, hooks...)
			calls := guard.hookCalls()
			if len(calls) != 1 || !strings.Contains(calls[0], `"context":{"command":"`+c.shown+`",`) {
				t.Fatalf("the guard was called with %q, want the command %s", calls, c.shown)
			}
			if o, _ := rawjson.Parse(out.Payload); string(o.Get("command")) != `"`+c.runs+`"` {
				t.Errorf("payload %s, want the command %s", out.Payload, c.runs)
			}
		})
	}
}

// TestOrder: transform hooks run in the order of docs/protocols/mine.md, row M37.
func TestOrder(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	const more = "[[hooks]]\ncommand=\"todo.*\"\nstage=\"preexec\"\nmode=\"transform\"\n[[hooks]]\ncommand=\"*\"\nstage=\"preexec\"\nmode=\"transform\"\n"
	for _, name := range []string{"b", "a", "a-z"} {
		r.script(name, more, `#!/bin/sh
read -r line
case $line in *'"type":"hook"'*) ;; *) exit ;; esac
command=$(printf '%s' "$line" | sed 's/.*"command":"\([^"]*\)".*/\1/')
printf '{"status":"ok","context":{"command":"%s `+name+`"}}' "$command"
`)
	}
	var hooks []hook.Hook
	for i, p := range r.open() {
		for _, h := range p.Hooks() {
			h.Position = i
			hooks = append(hooks, h)
		}
	}
	out := fired(t, hook.CommandBefore, `{"command":"todo.add"}`, hooks...)
	// The pattern * comes before todo.*, and the command still matches both after each change.
	if got := string(out.Payload); got != `{"command":"todo.add a-z a-z a a b b"}` {
		t.Errorf("got %s", got)
	}
}

// TestTimeouts: the manifest sets the timeout of each hook: docs/protocols/mine.md, row M41.
func TestTimeouts(t *testing.T) {
	r := newRig(t)
	r.fake("p", "[[hooks]]\ncommand=\"a\"\nstage=\"preexec\"\nmode=\"transform\"\ntimeout=\"250ms\"\n"+
		"[[hooks]]\ncommand=\"b\"\nstage=\"preexec\"\nmode=\"transform\"\n[[hooks]]\ncommand=\"c\"\nstage=\"notify\"\nmode=\"notify\"\n")
	p := r.open()[0]
	var got []time.Duration
	for _, h := range p.Hooks() {
		got = append(got, h.Timeout)
	}
	if len(got) != 3 || got[0] != 250*time.Millisecond || got[1] != 5*time.Second || got[2] != 30*time.Second {
		t.Errorf("timeouts %v", got)
	}
	h, err := p.Connect(stagePreexec, hook.ToolBefore)
	if err != nil || h.Timeout != 5*time.Second {
		t.Errorf("connected: %v, %v", h.Timeout, err)
	}
	if got := New().lifecycle; got != 5*time.Second {
		t.Errorf("lifecycle: %s", got)
	}
}

// TestNotifyDoesNotReadStdout: the stdout of a notify hook is ignored, whatever and however much it
// prints: docs/protocols/mine.md, row M38.
func TestNotifyDoesNotReadStdout(t *testing.T) {
	for _, behaviour := range []string{"garbage", "refuse-stdout", "chatty"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			_, p := openFake(t, behaviour)
			out := fired(t, hook.CommandDone, `{"command":"c"}`, p.Hooks()...)
			if s := out.Steps[0]; s.Err != nil || s.Received != nil {
				t.Errorf("step %+v", s)
			}
		})
	}
}

// TestEnvironment: a plugin gets the environment of docs/protocols/mine.md, row M59.
func TestEnvironment(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for _, c := range []struct {
		rule, permissions string
		passed            []string
		want              string
	}{
		{"PATH and HOME", "", nil, "HOME PATH"},
		{"declared and set", "env_vars = [\"VAULT\", \"NOT_SET\"]\n", nil, "HOME PATH VAULT"},
		{"the configuration passes on more", "", []string{"GIT_*"}, "GIT_DIR HOME PATH"},
		{"config_read", "config_read = true\n", nil, "HOME MINE_CONFIG_DIR MINE_DATA_DIR PATH"},
		{"config_write alone names no folders", "config_write = true\n", nil, "HOME PATH"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			r.rt.Env.Vars = append(r.rt.Env.Vars, "VAULT=notes", "GIT_DIR=g", "OPENAI_API_KEY=hunter2", "PATCHBAY_TOKEN=hunter2")
			r.settings.Env = c.passed
			r.script("p", everyStage+"[permissions]\n"+c.permissions, `#!/bin/sh
read -r line
case $line in *'"type":"hook"'*) ;; *) exit ;; esac
vars=$(env | sed 's/=.*//' | grep -v '^\(PWD\|OLDPWD\|SHLVL\|_\)$' | sort | tr '\n' ' ')
printf '{"status":"ok","context":{"result":"%s|%s|%s|%s"}}' "$vars" "$MINE_CONFIG_DIR" "$MINE_DATA_DIR" "$PWD"
`)
			out := fired(t, hook.CommandAfter, `{"command":"c"}`, r.open()[0].Hooks()...)
			var got struct{ Result string }
			if err := json.Unmarshal(out.Payload, &got); err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(got.Result, "|")
			if strings.TrimSpace(parts[0]) != c.want {
				t.Errorf("the plugin sees %q, want %q", parts[0], c.want)
			}
			if c.rule == "config_read" && (parts[1] != r.home+"/.config/mine" || parts[2] != r.home+"/.local/share/mine") {
				t.Errorf("folders %q", parts[1:3])
			}
			if parts[3] != r.rt.Dir {
				t.Errorf("working directory %q, want %q", parts[3], r.rt.Dir)
			}
		})
	}
}

// TestStandby: plugins get the same messages from processes that were started ahead, and Close
// stops these.
func TestStandby(t *testing.T) {
	r := newRig(t)
	r.settings.Standby = 1
	r.fake("p", everyStage)
	p := r.open()[0]
	for _, command := range []string{"one", "two", "three"} {
		out := fired(t, hook.CommandBefore, `{"command":"`+command+`"}`, p.Hooks()...)
		if !strings.Contains(string(out.Payload), `"seen":"p"`) {
			t.Errorf("%s: %s", command, out.Payload)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := fire(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...); err == nil {
		t.Error("a call after Close works")
	}
}
