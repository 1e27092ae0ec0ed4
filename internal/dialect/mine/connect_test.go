package mine

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestConnections: at each point to which a stage can be connected, the context shows the event,
// and a changed context sets the right fields.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		stage                            string
		point                            hook.Point
		payload, shown, reply, set, note string
	}{
		{stagePreexec, hook.ToolBefore, `{"tool":"write_file","call_id":"1","arguments":{"path":"a","n":3,"deep":{"x":[1]}}}`,
			`"command":"write_file","args":[],"flags":{"path":"a","n":"3","deep":"{\"x\":[1]}"},"result":null`,
			`{"flags":{"path":"b","n":"3","deep":"{\"x\":[1]}","tags":"t"}}`, `{"arguments":{"path":"b","n":3,"deep":{"x":[1]},"tags":"t"}}`, ""},
		{stagePreexec, hook.ToolBefore, `{"tool":"t","arguments":{"a":1}}`,
			`"command":"t","args":[],"flags":{"a":"1"},"result":null`, `{"command":"u","args":["x"],"result":"r"}`, `{"tool":"u"}`, "only flags can be changed"},
		{stagePreexec, hook.ToolBefore, `{"tool":"t","arguments":"raw"}`,
			`"command":"t","args":["raw"],"flags":{},"result":null`, `{"args":["raw"],"flags":{"a":"b"}}`, `{}`, "arguments are not an object"},
		{stagePreexec, hook.ToolBefore, `{"tool":"t","arguments":["x",{"y":1}]}`,
			`"command":"t","args":["[\"x\",{\"y\":1}]"],"flags":{},"result":null`, `{"args":["z"]}`, `{}`, "only flags can be changed"},
		{stagePreexec, hook.ToolBefore, `{"tool":"t","arguments":" {\"a\":1}"}`,
			`"command":"t","args":[],"flags":{"a":"1"},"result":null`, `{"flags":{"a":"2"}}`, `{"arguments":"{\"a\":2}"}`, ""},
		{stagePreexec, hook.ToolBefore, `{"tool":"t","arguments":"{\"a\":1,\"a\":2}"}`,
			`"command":"t","args":["{\"a\":1,\"a\":2}"],"flags":{},"result":null`, "{}", "{}", ""},
		{stagePrevalidate, hook.ToolBefore, `{"tool":"t"}`,
			`"command":"t","args":[],"flags":{},"result":null`, `{"flags":{"a":"b"}}`, `{"arguments":{"a":"b"}}`, ""},
		{stagePostexec, hook.ToolAfter, `{"tool":"t","arguments":{"a":1},"result":"out","success":true}`,
			`"command":"t","args":[],"flags":{"a":"1"},"result":"out"`, `{"flags":{"a":"2"},"result":"less"}`, `{"result":"less"}`, "the tool has run"},
		{stageNotify, hook.ToolAfter, `{"tool":"t","arguments":{"a":1},"result":"out"}`,
			`"command":"t","args":[],"flags":{"a":"1"},"result":"out"`, "", "", ""},

		{stagePrevalidate, hook.CommandBefore, `{"command":"c"}`, `"command":"c","args":[],"flags":{},"result":null`, `{"args":["a"]}`, `{"args":["a"]}`, ""},
		{stagePreexec, hook.CommandValidate, `{"command":"c"}`, `"command":"c","args":[],"flags":{},"result":null`, `{"args":["a"]}`, `{"args":["a"]}`, ""},
		{stageNotify, hook.CommandAfter, `{"command":"c","result":1}`, `"command":"c","args":[],"flags":{},"result":1`, "", "", ""},

		{stagePrevalidate, hook.TurnInput, `{"message":"hi"}`, `"command":"turn.input","args":[],"flags":{"message":"hi"},"result":null`,
			`{"flags":{"message":"hello"}}`, `{"message":"hello"}`, ""},
		{stagePreexec, hook.TurnInput, `{"message":"hi"}`, `"command":"turn.input","args":[],"flags":{"message":"hi"},"result":null`,
			`{"flags":{"message":"hi"}}`, `{}`, ""},
		{stagePreexec, hook.PromptContext, `{"user_message":"u","dynamic_context":"d"}`,
			`"command":"prompt.context","args":[],"flags":{"user_message":"u","dynamic_context":"d"},"result":null`,
			`{"flags":{"user_message":"v","dynamic_context":"e"}}`, `{"dynamic_context":"e"}`, `"user_message" is ignored`},
		{stagePreexec, hook.PromptSend, `{"base_prompt":"b","dynamic_context":"d"}`,
			`"command":"prompt.send","args":[],"flags":{"base_prompt":"b","dynamic_context":"d"},"result":null`,
			`{"flags":{"base_prompt":"c"}}`, `{"base_prompt":"c"}`, ""},
		{stagePostexec, hook.ModelReply, `{"text":"t","tool_calls":[]}`, `"command":"model.reply","args":[],"flags":{},"result":"t"`,
			`{"result":"u"}`, `{"text":"u"}`, ""},
		{stagePostexec, hook.TurnFinal, `{"text":"t"}`, `"command":"turn.final","args":[],"flags":{},"result":"t"`, `{"result":{"a":1}}`, `{"text":"{\"a\":1}"}`, ""},

		{stageNotify, hook.TurnDone, `{"text":"t","duration":3}`, `"command":"turn.done","args":[],"flags":{},"result":{"text":"t","duration":3}`, "", "", ""},
		{stageNotify, hook.SessionIdle, `{"transcript":"t"}`, `"command":"session.idle","args":[],"flags":{},"result":{"transcript":"t"}`, "", "", ""},
		{stageNotify, hook.SessionEnd, `{"session_id":"s"}`, `"command":"session.end","args":[],"flags":{},"result":{"session_id":"s"}`, "", "", ""},
		{stageNotify, hook.JobSink, `{"agent":"a"}`, `"command":"job.sink","args":[],"flags":{},"result":{"agent":"a"}`, "", "", ""},
		{stageNotify, hook.JobNotify, `{"agent":"a"}`, `"command":"job.notify","args":[],"flags":{},"result":{"agent":"a"}`, "", "", ""},
	} {
		t.Run(c.stage+" at "+string(c.point), func(t *testing.T) {
			tr, err := connection(c.stage, c.point)
			if err != nil {
				t.Fatal(err)
			}
			p, err := rawjson.Parse([]byte(c.payload))
			if err != nil {
				t.Fatal(err)
			}
			shown := tr.show(p)
			if got := string(shown.object().JSON()); !strings.HasPrefix(got, "{"+c.shown+`,"timestamp":`) {
				t.Errorf("shown %s\nwant  {%s", got, c.shown)
			}
			if (tr.apply == nil) != (c.stage == stageNotify) {
				t.Fatal("only a translation of the stage notify has no apply")
			}
			if tr.apply == nil {
				return
			}
			changed, err := parseContext([]byte(c.reply))
			if err != nil {
				t.Fatal(err)
			}
			set, notes := tr.apply(p, &shown, changed)
			if got := string(set.JSON()); got != c.set || !strings.Contains(strings.Join(notes, "\n"), c.note) || (c.note == "") != (len(notes) == 0) {
				t.Errorf("set %s, want %s; notes %q", got, c.set, notes)
			}
		})
	}
}

func TestHooksThatCannotBeConnected(t *testing.T) {
	_, err := connection(stagePostexec, hook.ToolBefore)
	want := "mine hook postexec cannot be called at tool.before; connect it to command.after, tool.after, model.reply, turn.final"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	r := newRig(t)
	r.fake("p", "[[hooks]]\ncommand=\"*\"\nstage=\"preexec\"\nmode=\"transform\"\n")
	p := r.open()[0]
	if _, err := p.Connect("prexec", hook.ToolBefore); err == nil || !strings.Contains(err.Error(), `plugin p has no hook "prexec"; did you mean "preexec"?`) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Connect(stagePreexec, hook.JobPreflight); err == nil || !strings.Contains(err.Error(), "connect it to command.before, command.validate, tool.before") {
		t.Errorf("error %v", err)
	}
}

// TestConnectedOnce: a plugin with several hooks of a stage is called once, if any of their
// patterns matches.
func TestConnectedOnce(t *testing.T) {
	r := newRig(t)
	r.fake("p", "[[hooks]]\ncommand=\"write_*\"\nstage=\"preexec\"\nmode=\"transform\"\n[[hooks]]\ncommand=\"*_file\"\nstage=\"preexec\"\nmode=\"transform\"\n")
	h, err := r.open()[0].Connect(stagePreexec, hook.ToolBefore)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool  string
		calls int
	}{{"shell", 0}, {"write_file", 1}, {"read_file", 2}} {
		out := fired(t, hook.ToolBefore, `{"tool":"`+c.tool+`","arguments":{"n":1}}`, h)
		if n := len(r.hookCalls()); n != c.calls {
			t.Errorf("%s: asked %d times so far, want %d", c.tool, n, c.calls)
		}
		if changed := string(out.Payload) == `{"tool":"`+c.tool+`","arguments":{"n":1,"seen":"p"}}`; changed != (c.calls > 0) {
			t.Errorf("%s: %s", c.tool, out.Payload)
		}
	}
}
