package mine

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// answering opens a plugin whose hooks always give the same answer.
func answering(t *testing.T, answer string) *plugin {
	t.Helper()
	_, p := answeringLogged(t, answer)
	return p
}

func answeringLogged(t *testing.T, answer string) (*rig, *plugin) {
	t.Helper()
	plugtest.NeedTool(t, "sh")
	r := newRig(t)
	r.script("p", everyStage, "#!/bin/sh\ncat >/dev/null\necho '"+answer+"'\n")
	return r, r.open()[0]
}

// TestProgramResults: no answer loses the exit code of a program: docs/protocols/mine.md, row M63.
func TestProgramResults(t *testing.T) {
	const failed = `{"stdout":"out","stderr":"no","exit_code":2}`
	for _, c := range []struct{ rule, result, want, err string }{
		{"fields that are left out stay", `{"stdout":"new"}`, `{"stdout":"new","stderr":"no","exit_code":2}`, ""},
		{"an empty object changes nothing", `{}`, failed, ""},
		{"a string replaces stdout", `"new"`, `{"stdout":"new","stderr":"no","exit_code":2}`, ""},
		{"an exit code", `{"exit_code":0}`, `{"stdout":"out","stderr":"no","exit_code":0}`, ""},
		{"another order of the fields", `{"exit_code":2,"stdout":"out","stderr":"no"}`, failed, ""},
		{"an unknown field is left out", `{"stdout":"new","exit":0}`, `{"stdout":"new","stderr":"no","exit_code":2}`, ""},
		{"null", `null`, "", `context.result is null: leave it out to keep it, or write "" for no output`},
		{"a list", `[1]`, "", "context.result is neither"},
		{"a number as stdout", `{"stdout":5}`, "", `context.result.stdout is not a string: "5"`},
		{"a string as exit code", `{"exit_code":"0"}`, "", "context.result.exit_code is not a whole number from 0 to 255"},
		{"an exit code that the system would cut to 0", `{"exit_code":256}`, "", "context.result.exit_code is not a whole number from 0 to 255"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			out, err := fire(t, hook.CommandAfter, `{"command":"c","result":`+failed+`}`, answering(t, `{"status":"ok","context":{"result":`+c.result+`}}`).Hooks()...)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if o, _ := rawjson.Parse(out.Payload); string(o.Get("result")) != c.want {
				t.Errorf("payload %s, want %s", out.Payload, c.want)
			}
		})
	}
	t.Run("results of other programs have any form", func(t *testing.T) {
		t.Parallel()
		out := fired(t, hook.CommandAfter, `{"command":"c","result":{"n":1,"m":2}}`, answering(t, `{"context":{"result":{"n":2}}}`).Hooks()...)
		if string(out.Payload) != `{"command":"c","result":{"n":2}}` {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("a command that has not run has no result", func(t *testing.T) {
		t.Parallel()
		out := fired(t, hook.CommandBefore, `{"command":"c"}`, answering(t, `{"context":{"result":{"stdout":5}}}`).Hooks()...)
		if notes := strings.Join(out.Steps[0].Notes, "\n"); out.Steps[0].Changed || notes != "the result is ignored: the command has not run yet" {
			t.Errorf("payload %s, notes %s", out.Payload, notes)
		}
	})
}

// TestUnknownFields: fields that the protocol does not know are ignored, and are notes of the step.
// If the answer may be meant to refuse or to change something, that is a warning too:
// docs/protocols/mine.md, rows M35, M47 and M62.
func TestUnknownFields(t *testing.T) {
	for _, c := range []struct {
		answer string
		warns  bool
		notes  []string
	}{
		{`{"status":"ok","contxt":{}}`, true, []string{`the answer has the unknown field "contxt", which is ignored; did you mean "context"?`}},
		{`{"status":"ok","args":["a"]}`, true, []string{`the answer has "args" beside context, where it is ignored; put it into context`}},
		{`{"status":"ok","context":{"arg":["a"]}}`, true, []string{`context has the unknown field "arg", which is ignored; did you mean "args"?`}},
		{`{"context":{"result":{"stdout":"o","exit":0}}}`, true, []string{`context.result has the unknown field "exit", which is ignored; did you mean "exit_code"?`}},
		{`{"context":{"status":"error","error":"no"}}`, true, []string{
			`context has "status", which is ignored there; put it beside context`, `context has "error", which is ignored there; put it beside context`,
		}},
		{`{"status":"ok","context":{"command":"d"}}`, true, []string{"the command is ignored: it has run"}},
		{`{"status":"ok","mood":"good"}`, false, []string{`the answer has the unknown field "mood", which is ignored; known here: status, context, error, code`}},
		{`{"status":"ok","protocol_version":"1.0.0","type":"hook","stage":"postexec","mode":"transform","context":{"timestamp":"t"}}`, false, nil},
		{`{"status":"ok","error":"no"}`, true, []string{`the answer has an error, which is ignored: it counts only as a string, with the status "error" or without a status`}},
		{`{"error":{"message":"no"}}`, true, []string{`the answer has an error, which is ignored: it counts only as a string, with the status "error" or without a status`}},
		{`{"status":"ok","error":""}`, false, nil},
		{`{"decision":"block"}`, true, []string{
			"the answer has none of status, context, error, code, so it changes nothing",
			`the answer has the unknown field "decision", which is ignored; known here: status, context, error, code`,
		}},
		{`{}`, false, nil},
		{`{"a":1,"b":1,"d":1,"e":1,"f":1,"g":1}`, true, make([]string, dialect.MostUnknown+2)}, // one says that the answer changes nothing, the last that there are more
	} {
		t.Run(c.answer, func(t *testing.T) {
			t.Parallel()
			r, p := answeringLogged(t, c.answer)
			out := fired(t, hook.CommandAfter, `{"command":"c","result":{"stdout":"","stderr":"","exit_code":1}}`, p.Hooks()...)
			notes := out.Steps[0].Notes
			if warned := strings.Contains(r.log.String(), "level=WARN"); warned != c.warns {
				t.Errorf("warned is %t:\n%s", warned, r.log)
			}
			if len(notes) != len(c.notes) {
				t.Fatalf("notes %q, want %q", notes, c.notes)
			}
			for i, want := range c.notes {
				if want != "" && notes[i] != want {
					t.Errorf("note %q, want %q", notes[i], want)
				}
			}
		})
	}
}
