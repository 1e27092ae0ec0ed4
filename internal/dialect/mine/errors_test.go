package mine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestErrorRules: any error of a transform hook aborts the command and names the hook:
// docs/protocols/mine.md, rows M42 to M48.
func TestErrorRules(t *testing.T) {
	for _, c := range []struct {
		rule, behaviour string
		kind            hook.Kind
		text            string
	}{
		{"malformed JSON response", "garbage", hook.Garbled, `parse error: its answer is not a JSON object: "all good!"`},
		{"malformed JSON response, cut off", "half", hook.Garbled, "parse error"},
		{"malformed JSON response, a list", "list", hook.Garbled, "parse error"},
		{"malformed JSON response, another status", "status", hook.Garbled, "parse error: status is neither ok nor error"},
		{"two values of one field", "both", hook.Garbled, `parse error: its answer: the field "status" has two values: "{\"status\":\"error\",`},
		{"plugin crash", "crash", hook.Crash, "plugin exited unexpectedly (exit code 3)"},
		{"plugin crash by a signal", "kill-self", hook.Crash, "plugin exited unexpectedly (SIGKILL)"},
		{"an error object on stdout with an exit code", "refuse-wrongly", hook.Crash,
			`plugin exited unexpectedly (exit code 1): stderr is empty, and stdout is "{\"status\":\"error\",`},
		{"JSON on stderr", "refuse", hook.Refused, "vault not found (VAULT_NOT_FOUND)"},
		{"stderr that is not JSON is shown raw", "words", hook.Crash, "Traceback:\n  boom"},
		{"status error with exit 0", "refuse-stdout", hook.Refused, "vault not found (VAULT_NOT_FOUND)"},
		{"status error on stderr with exit 0", "refuse-zero", hook.Refused, "vault not found (VAULT_NOT_FOUND)"},
		{"status error on stderr with exit 0, among other lines", "refuse-among", hook.Refused, "vault not found (VAULT_NOT_FOUND)"},
		{"status error on stderr with exit 0, after a byte order mark", "refuse-marked", hook.Refused, "vault not found (VAULT_NOT_FOUND)"},
		{"status error without a reason", "refuse-quietly", hook.Refused, "gave no reason"},
		{"timeout", "hang", hook.Timeout, "timed out after 500ms"},
		{"a reply without end", "huge", hook.TooLarge, "over 4194304 bytes"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			r, p := openFake(t, c.behaviour)
			hooks := p.Hooks()
			if c.kind == hook.Timeout {
				for i := range hooks {
					hooks[i].Timeout = 500 * time.Millisecond
				}
			}
			out, err := fire(t, hook.CommandBefore, `{"command":"todo.add"}`, hooks...)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %s, %q", err, c.kind, c.text)
			}
			if out.Verdict != hook.Deny || !strings.Contains(err.Error(), "preexec at command.before") {
				t.Errorf("verdict %s, error %v", out.Verdict, err)
			}
			if logged := strings.Contains(r.log.String(), "the output of a call that failed"); logged != (c.kind == hook.Garbled) {
				t.Errorf("the raw output is logged: %v\n%s", logged, r.log)
			}
		})
	}
	ignored := map[string]string{"log-object": "because it has no status", "log-answer": "because stdout has an answer"}
	for _, behaviour := range []string{"empty", "bare", "null", "log-line", "log-object", "log-answer"} {
		t.Run("empty stdout: "+behaviour, func(t *testing.T) {
			t.Parallel()
			r, p := openFake(t, behaviour)
			const payload = `{"command":"todo.add","flags":{"n":5}}`
			out := fired(t, hook.CommandBefore, payload, p.Hooks()...)
			if why := ignored[behaviour]; strings.Contains(r.log.String(), "which is ignored") != (why != "") || !strings.Contains(r.log.String(), why) {
				t.Errorf("log\n%s\nwant a warning: %q", r.log, why)
			}
			if string(out.Payload) != payload || out.Steps[0].Changed || out.Steps[0].Sent == nil {
				t.Errorf("payload %s, step %+v", out.Payload, out.Steps[0])
			}
		})
	}
	t.Run("malformed JSON response: the raw output is logged", func(t *testing.T) {
		r, p := openFake(t, "garbage")
		out, _ := fire(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...)
		if log := r.log.String(); strings.Contains(log, "JSON-RPC") || strings.Contains(log, "ignored") || !strings.Contains(log, "the output of a call that failed") {
			t.Errorf("log\n%s", log)
		}
		if !strings.Contains(r.log.String(), "all good!") || string(out.Steps[0].Received) != `"all good!"` {
			t.Errorf("received %s, log\n%s", out.Steps[0].Received, r.log)
		}
	})
}

// TestProgramLostLater: a program that is removed or changed after the plugin was opened is
// reported when it is called.
func TestProgramLostLater(t *testing.T) {
	for _, c := range []struct {
		rule string
		lose func(path string) error
		says []string
	}{
		{"binary missing", os.Remove, []string{"missing", "reinstall"}},
		{"not executable", func(path string) error { // a new file, because the fake is a link to the test binary
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o644)
		}, []string{"permission", "chmod +x "}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r, p := openFake(t, "p")
			p.greeting.Wait()
			r.must(c.lose(p.program))
			_, err := fire(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...)
			if !errors.Is(err, hook.Unavailable) {
				t.Errorf("error %v", err)
			}
			for _, says := range append(c.says, filepath.Base(p.program)) {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("error %q does not say %q", err, says)
				}
			}
		})
	}
}

// TestNotifyFailures: a notify hook that fails does not abort the command, neither at its own point
// nor at one whose mode is chain: docs/protocols/mine.md, row M39.
func TestNotifyFailures(t *testing.T) {
	for _, behaviour := range []string{"crash", "refuse", "refuse-zero", "words"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			_, p := openFake(t, behaviour)
			for _, point := range []hook.Point{hook.CommandDone, hook.CommandAfter, hook.ToolAfter} {
				h, err := p.Connect(stageNotify, point)
				if err != nil {
					t.Fatal(err)
				}
				out := fired(t, point, `{"command":"c","tool":"t"}`, h)
				if out.Verdict != hook.Continue || out.Steps[0].Err == nil || out.Steps[0].Action != hook.ActionSkip {
					t.Errorf("%s: %s, %+v", point, out.Verdict, out.Steps[0])
				}
			}
		})
	}
}

// TestOutdated: a plugin that refuses the protocol's version is skipped: docs/protocols/mine.md,
// rows M29 and M49.
func TestOutdated(t *testing.T) {
	t.Run("in answer to a hook", func(t *testing.T) {
		r, p := openFake(t, "outdated")
		for _, time := range []string{"first", "second"} {
			out := fired(t, hook.CommandBefore, `{"command":"c"}`, p.Hooks()...)
			if s := &out.Steps[0]; !errors.Is(s.Err, hook.Outdated) || s.Action != hook.ActionSkip || out.Verdict != hook.Continue {
				t.Errorf("the %s time: %s, %v, %s", time, out.Verdict, s.Err, s.Action)
			}
		}
		if st := p.Status(); st.Health != "broken" || st.Err == nil {
			t.Errorf("status %+v", st)
		}
		if n := len(r.hookCalls()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("only with the sentence of the protocol", func(t *testing.T) {
		for message, want := range map[string]bool{
			"unsupported protocol version":                                 true,
			"Unsupported Protocol Version.":                                true,
			"unsupported protocol version: needs 2.0":                      true,
			"unsupported protocol version 2.0.0: this plugin speaks 1.0.0": true,
			`unsupported protocol version "2.0.0"`:                         true,
			"unsupported protocol version (got 2.0.0)":                     true,
			"the unsupported protocol version bug in git":                  false,
			"unsupported protocol version bug in git":                      false,
			"unsupported protocol version 2 of git":                        false,
			"ssh: unsupported protocol version":                            false,
			"git protocol version 2 is not supported here":                 false,
		} {
			said := &errorObject{message: message, code: "UNSUPPORTED_PROTOCOL_VERSION"}
			if said.outdated() != want {
				t.Errorf("%s: %v", message, !want)
			}
		}
	})
	t.Run("a guard that refuses with these words is not skipped", func(t *testing.T) {
		plugtest.NeedTool(t, "sh")
		r := newRig(t)
		r.script("p", everyStage, `#!/bin/sh
cat >/dev/null
echo '{"status":"error","error":"the unsupported protocol version bug in git"}' >&2
exit 1
`)
		_, err := fire(t, hook.CommandBefore, `{"command":"c"}`, r.open()[0].Hooks()...)
		if !errors.Is(err, hook.Refused) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a guard that repeats the name of a command is not skipped", func(t *testing.T) {
		plugtest.NeedTool(t, "python3")
		for _, name := range []string{"unsupported protocol version", `\u0075nsupported protocol version`, "unſupported protocol version"} {
			r := newRig(t)
			r.script("p", everyStage, `#!/usr/bin/env python3
import json, sys
context = json.load(sys.stdin).get("context")
if context:
    print(json.dumps({"status": "error", "error": context["command"] + ": not allowed"}), file=sys.stderr)
    sys.exit(1)
`)
			p := r.open()[0]
			for _, command := range []string{name, "rm"} { // the second shows that it is called again
				_, err := fire(t, hook.CommandBefore, `{"command":"`+command+`"}`, p.Hooks()...)
				if !errors.Is(err, hook.Refused) {
					t.Errorf("%q after %q: error %v", command, name, err)
				}
			}
		}
	})
	t.Run("in answer to init", func(t *testing.T) {
		_, p := openFake(t, "outdated-init")
		p.greeting.Wait()
		if st := p.Status(); st.Health != "broken" || !strings.Contains(st.Err.Error(), "needs 2.0; "+upgrade) {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("said in the manifest", func(t *testing.T) {
		r := newRig(t)
		r.folder("p", strings.Replace(manifestOf("p", ""), "1.0.0", "2.0.0", 1))
		f := New().Find(r.rt.Env)[0]
		if f.State != dialect.Broken || !strings.Contains(f.Err.Error(), "unsupported protocol version") {
			t.Errorf("%+v", f)
		}
	})
}

// TestDeclared: the hooks of a plugin that cannot be opened are known from its manifest, and fail.
func TestDeclared(t *testing.T) {
	const told = "[[hooks]]\ncommand=\"c\"\nstage=\"postexec\"\nmode=\"notify\"\n"
	for _, c := range []struct {
		rule, manifest string
		point          hook.Point
		action         hook.Action // "": the hook is not called
	}{
		{"a transform hook", manifestOf("p", everyStage), hook.CommandBefore, hook.ActionAbort},
		{"a notify hook", manifestOf("p", everyStage), hook.CommandDone, hook.ActionSkip},
		{"a hook of a manifest with faults elsewhere", strings.Replace(manifestOf("p", everyStage), "author", "autor", 1), hook.CommandBefore, hook.ActionAbort},
		{"a hook of mode notify cannot refuse, whatever its stage", manifestOf("p", told), hook.CommandAfter, hook.ActionSkip},
		{"a hook of mode notify whose stage cannot be read", manifestOf("p", strings.ReplaceAll(told, "postexec", "after")), hook.CommandDone, hook.ActionSkip},
		{"a hook that may refuse, and whose stage cannot be read", manifestOf("p", strings.NewReplacer("postexec", "after", "notify", "transform").Replace(told)),
			hook.CommandBefore, hook.ActionAbort},
		{"a hook whose pattern cannot be read", manifestOf("p", strings.ReplaceAll(told, "=\"c\"", "=\"[c\"")), hook.CommandAfter, ""},
		{"a manifest that cannot be read", manifestOf("p", "[[hooks"), hook.CommandBefore, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := newRig(t)
			r.folder("p", c.manifest)
			f := New().Find(r.rt.Env)[0]
			if f.State != dialect.Broken {
				t.Fatalf("%+v", f)
			}
			w, ok := New().Declared(f, hook.Failure(hook.Unavailable, f.Err))
			if !ok {
				if c.action != "" {
					t.Error("no hooks")
				}
				return
			}
			out, err := fire(t, c.point, `{"command":"c"}`, w.Hooks()...)
			if len(out.Steps) != 1 || out.Steps[0].Action != c.action || (err != nil) != (c.action == hook.ActionAbort) {
				t.Errorf("%v, %+v", err, out)
			}
			guards := c.action == hook.ActionAbort || strings.Contains(c.manifest, stagePreexec)
			if _, err := w.Connect(stagePreexec, hook.ToolBefore); (err == nil) != guards {
				t.Errorf("connected: %v", err)
			}
		})
	}
}
