package scaffold

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// read reads a hook's result for a payload.
func read(t *testing.T, name, payload, result string) hook.Reply {
	t.Helper()
	tr := translationOf(name)
	o, err := rawjson.Parse([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tr.reply(&hook.Event{Point: tr.point, Payload: o}, plugtest.Result(result))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestActions(t *testing.T) {
	for _, c := range []struct{ rule, hook, result, set, verdict string }{
		{"missing action is continue", "post_user_input", `{"message":"m"}`, `{"message":"m"}`, "continue"},
		{"unknown action is continue", "post_user_input", `{"action":"dance","message":"m"}`, `{"message":"m"}`, "continue"},
		{"an action that is not a string is continue", "post_user_input", `{"action":1,"message":"m"}`, `{"message":"m"}`, "continue"},
		{"null is continue", "post_user_input", `null`, `{}`, "continue"},
		{"only string fields are applied", "pre_llm_send", `{"base_prompt":7,"dynamic_context":"d"}`, `{"dynamic_context":"d"}`, "continue"},
		{"fields of other hooks are not applied", "post_user_input", `{"text":"t"}`, `{}`, "continue"},
		{"data is applied on stop", "post_llm_response", `{"action":"stop","text":"t"}`, `{"text":"t"}`, "stop"},
		{"data is not applied on skip", "post_user_input", `{"action":"skip","message":"m"}`, `{}`, "skip"},
		{"skip counts only for post_user_input", "post_llm_response", `{"action":"skip","text":"t"}`, `{}`, "continue"},
		{"stop is ignored for context_enhance", "context_enhance", `{"action":"stop","dynamic_context":"d"}`, `{"dynamic_context":"d"}`, "continue"},
		{"skip is ignored for context_enhance", "context_enhance", `{"action":"skip","dynamic_context":"d"}`, `{"dynamic_context":"d"}`, "continue"},
		{"stop of a tool sets its result", "pre_tool_execute", `{"action":"stop","result":"r"}`, `{"result":"r","success":false}`, "stop"},
		{"success is what the reply says", "pre_tool_execute", `{"action":"stop","result":"r","success":true}`, `{"result":"r","success":true}`, "stop"},
		{"stop without a string result is a block", "pre_tool_execute", `{"action":"stop","result":{"a":1}}`, `{"result":"{\"blocked\":\"Plugin blocked execution\"}","success":false}`, "stop"},
		{"arguments in a continue reply replace the arguments", "pre_tool_execute", `{"action":"continue","arguments":"{\"a\": 2}"}`, `{"arguments":{"a":2}}`, "continue"},
		{"arguments that are not JSON are ignored", "pre_tool_execute", `{"arguments":"rm"}`, `{}`, "continue"},
		{"arguments that are not a string are ignored", "pre_tool_execute", `{"arguments":{"a":2}}`, `{}`, "continue"},
		{"a result may be replaced after the tool", "post_tool_execute", `{"result":"r"}`, `{"result":"r"}`, "continue"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := read(t, c.hook, `{"arguments":{"a":1}}`, c.result)
			if got := string(hook.Object(r.Set).JSON()); got != c.set || string(r.Verdict) != c.verdict {
				t.Errorf("got %s %s, want %s %s", r.Verdict, got, c.verdict, c.set)
			}
		})
	}
}

// TestAnUnknownActionIsNoted: a guard that answers "deny" blocks nothing, and a note says so.
func TestAnUnknownActionIsNoted(t *testing.T) {
	for action, note := range map[string]string{
		"deny":     `there is no action "deny", so it means continue; known here: continue, stop, skip`,
		"stopp":    `there is no action "stopp", so it means continue; did you mean "stop"?`,
		"continue": "",
	} {
		r := read(t, "pre_tool_execute", `{}`, `{"action":"`+action+`"}`)
		if got := strings.Join(r.Notes, " "); got != note {
			t.Errorf("%s: noted %q, want %q", action, got, note)
		}
	}
}

func TestAResultThatIsNotAnObjectIsGarbled(t *testing.T) {
	tr := translationOf("post_user_input")
	for _, result := range []string{`[]`, `"text"`, `7`, `true`} {
		if _, err := tr.reply(&hook.Event{Point: tr.point}, plugtest.Result(result)); !errors.Is(err, hook.Garbled) {
			t.Errorf("%s: %v", result, err)
		}
	}
}

// TestARepeatedActionLosesNoRefusal: an answer with two values for a field refuses if one of its
// actions is stop, and is garbled otherwise.
func TestARepeatedActionLosesNoRefusal(t *testing.T) {
	for _, c := range []struct{ hook, result, set string }{
		{"pre_tool_execute", `{"action":"stop","result":"no","action":"continue"}`, `{"result":"no","success":false}`},
		{"pre_tool_execute", `{"action":"continue","action":"stop","success":true}`, `{"result":"{\"blocked\":\"Plugin blocked execution\"}","success":false}`},
		{"pre_tool_execute", `{"action":"stop","success":false,"success":true}`, `{"result":"{\"blocked\":\"Plugin blocked execution\"}","success":false}`},
		{"post_user_input", `{"action":"s\u0074op","action":"skip"}`, `{}`},
		{"pre_tool_execute", `{"action":"stop","result":"no","action":"stop"}`, `{"result":"no","success":false}`},
	} {
		r := read(t, c.hook, `{}`, c.result)
		if got := string(hook.Object(r.Set).JSON()); got != c.set || r.Verdict != hook.Stop {
			t.Errorf("%s: %s %s, want %s", c.result, r.Verdict, got, c.set)
		}
	}
	r := read(t, "pre_tool_execute", `{}`, `{"action":"stop","action":"continue"}`)
	if want := `the field "action" has two values: the answer has the action stop, so it refuses`; !slices.Contains(r.Notes, want) {
		t.Errorf("notes %q", r.Notes)
	}
	for _, result := range []string{`{"action":"continue","action":"deny"}`, `{"arguments":"{}","arguments":"{\"a\":1}"}`} {
		tr := translationOf("pre_tool_execute")
		if _, err := tr.reply(&hook.Event{Point: tr.point}, plugtest.Result(result)); !errors.Is(err, hook.Garbled) || !strings.Contains(err.Error(), "has two values") {
			t.Errorf("%s: %v", result, err)
		}
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ rule, hook, payload, want string }{
		{"missing fields are empty", "context_enhance", `{}`, `{"user_message":"","dynamic_context":""}`},
		{"null fields are empty", "post_user_input", `{"message":null}`, `{"message":""}`},
		{"values that are not strings are serialised", "post_tool_execute", `{"tool":"t","arguments":{"a":[1]},"result":{"b":2},"success":false}`,
			`{"tool_name":"t","arguments":"{\"a\":[1]}","result":"{\"b\":2}","success":false}`},
		{"success is true unless it is false", "post_tool_execute", `{"tool":"t","result":"r"}`, `{"tool_name":"t","arguments":"{}","result":"r","success":true}`},
		{"fields the hook does not know are not sent", "post_user_input", `{"message":"m","session_id":"s"}`, `{"message":"m"}`},
		{"tool calls keep name and arguments", "post_llm_response", `{"text":"t","tool_calls":[{"name":"shell","call_id":"1","arguments":{"cmd":"ls"}},{"name":"b"}]}`,
			`{"text":"t","tool_calls":[{"name":"shell","arguments":"{\"cmd\":\"ls\"}"},{"name":"b","arguments":"{}"}]}`},
		{"no tool calls are an empty list", "post_llm_response", `{"text":"t"}`, `{"text":"t","tool_calls":[]}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o, err := rawjson.Parse([]byte(c.payload))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(translationOf(c.hook).params(&hook.Event{Payload: o})); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestACommandThatWasRefusedDidNotSucceed(t *testing.T) {
	tr, err := connection("post_tool_execute", hook.CommandDone)
	if err != nil {
		t.Fatal(err)
	}
	o, err := rawjson.Parse([]byte(`{"command":"ls","result":null,"error":"refused"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tool_name":"ls","arguments":"{\"args\":[],\"flags\":{}}","result":"refused","success":false}`
	if got := string(tr.params(&hook.Event{Payload: o})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestToolResult(t *testing.T) {
	for _, c := range []struct{ rule, result, text, errText string }{
		{"a string is returned unchanged", `{"success":true,"result":"r"}`, "r", ""},
		{"a value that is not a string is serialised", `{"success":true,"result":{"a":1}}`, `{"a":1}`, ""},
		{"the result of a failure is its reason", `{"success":false,"result":"why"}`, "why", "why"},
		{"a failure without a result says so", `{"success":false}`, "", "the tool gave no reason"},
		{"missing success is success", `{"result":"r"}`, "r", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r, err := toolResult("t", plugtest.Result(c.result))
			if err != nil || r.Result != c.text || r.Error != c.errText || r.Success != (c.errText == "") {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	if _, err := toolResult("t", plugtest.Result(`"text"`)); !errors.Is(err, hook.Garbled) {
		t.Errorf("a result that is not an object: %v", err)
	}
}

// TestRemarks: fields of an answer that are ignored are notes of the step.
func TestRemarks(t *testing.T) {
	for _, c := range []struct{ hook, answer, note string }{
		{"post_user_input", `{"action":"continue","mesage":"x"}`, `the answer has the unknown field "mesage", which is ignored; did you mean "message"?`},
		{"post_user_input", `{"acton":"skip"}`, `the answer has the unknown field "acton", which is ignored; did you mean "action"?`},
		{"post_user_input", `{"action":1}`, `action is ignored: a number where a string belongs`},
		{"post_user_input", `{"message":5}`, `message is ignored: a number where a string belongs`},
		{"pre_tool_execute", `{"arguments":{"a":1}}`, `arguments is ignored: an object where a string of JSON belongs`},
		{"pre_tool_execute", `{"action":"stop","success":"true"}`, `success is ignored: a string where true or false belongs`},
		{"pre_tool_execute", `{"result":"no"}`, `result is ignored: it counts only with the action stop`},
		{"pre_tool_execute", `{"success":false}`, `success is ignored: it counts only with the action stop`},
		{"pre_tool_execute", `{"decision":"block"}`, `the answer has none of action, arguments, result, success, so it means continue`},
		{"pre_tool_execute", `{"ok":true}`, `the answer has none of action, arguments, result, success, so it means continue`},
		{"post_llm_response", `{"response":"r"}`, `the answer has none of action, text, so it changes nothing`},
		{"post_llm_response", `{"ok":true}`, ``},                   // what plugins answer to shutdown, and often to everything
		{"post_llm_response", `{"text":"t","response":"r"}`, ``},   // a field of the plugin's own
		{"context_enhance", `{"user_message":"u","tokens":1}`, ``}, // the params, sent back
		{"pre_tool_execute", `{}`, ``},
		{"post_tool_execute", `{"result":null}`, `result is ignored: null where a string belongs`},
		{"pre_tool_execute", `{"action":"stop","result":"no","success":false}`, ``},
		{"post_user_input", `{"text":"x"}`, `text is ignored: an answer to post_user_input may have action, message`},
		{"post_tool_execute", `{"tool_name":"t","arguments":"{}","success":true,"result":"r"}`, ``}, // the params, sent back
		{"context_enhance", `{"action":"skip","dynamic_context":"d"}`, `skip is ignored: at context_enhance every plugin is asked, and the context of each is used`},
		{"post_llm_response", `{"action":"skip","text":"t"}`, `skip counts only for post_user_input: nothing of the answer is applied`},
		{"post_user_input", `{"action":"continue","confidence":0.9}`, ``}, // a field of the plugin's own
	} {
		if got := strings.Join(read(t, c.hook, `{}`, c.answer).Notes, " "); got != c.note {
			t.Errorf("%s %s: noted %q, want %q", c.hook, c.answer, got, c.note)
		}
	}
	if notes := read(t, "post_user_input", `{}`, `{"mesage":1,"messag":1,"essage":1,"massage":1,"messsage":1,"mssage":1}`).Notes; len(notes) != dialect.MostUnknown {
		t.Errorf("%d notes", len(notes))
	}
}

// TestToolRemarks: fields of a tool's answer that have no effect cause warnings.
func TestToolRemarks(t *testing.T) {
	for answer, want := range map[string]string{
		`{"success":true,"result":"r"}`:    "",
		`{"success":false,"result":"no"}`:  "",
		`{"success":false}`:                "",
		`{"result":{"a":1},"took":5}`:      "",
		`{"success":"false","result":"r"}`: "success is ignored: a string where true or false belongs",
		`{"sucess":false,"result":"r"}`:    `the answer has the unknown field "sucess", which is ignored; did you mean "success"?`,
		`{"success":true,"result":null}`:   "a tool answered without a result, which counts as an empty one; answer with success and result",
		`{"success":true}`:                 "a tool answered without a result, which counts as an empty one; answer with success and result",
	} {
		if got := strings.Join(toolRemarks(plugtest.Result(answer).Fields), "; "); got != want {
			t.Errorf("%s: noted %q, want %q", answer, got, want)
		}
	}
}

// TestAStopOfACommandRefusesIt: a result in place of the command would count as its success.
func TestAStopOfACommandRefusesIt(t *testing.T) {
	for _, point := range []hook.Point{hook.CommandValidate, hook.CommandBefore} {
		tr, err := connection("pre_tool_execute", point)
		if err != nil {
			t.Fatal(err)
		}
		for answer, want := range map[string]string{
			`{"action":"stop","result":"no"}`:                 "deny no {}",
			`{"action":"stop"}`:                               "deny " + blocked + " {}",
			`{"action":"stop","result":"yes","success":true}`: `stop  {"result":"yes"}`,
		} {
			r, err := tr.reply(&hook.Event{Point: point}, plugtest.Result(answer))
			if got := string(r.Verdict) + " " + r.Reason + " " + string(hook.Object(r.Set).JSON()); err != nil || got != want {
				t.Errorf("%s at %s: got %s (%v), want %s", answer, point, got, err, want)
			}
		}
	}
}

// TestChangedArgumentsOfACommand: args and flags that a command cannot have are left out.
func TestChangedArgumentsOfACommand(t *testing.T) {
	tr, err := connection("pre_tool_execute", hook.CommandBefore)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"args":["a"],"flags":{"f":"1"}}`: `{"args":["a"],"flags":{"f":"1"}} `,
		`{"args":[1],"flags":{}}`:          `{"flags":{}} args in arguments is ignored: it is not a list of strings`,
		`{"args":"a","flags":{"f":1}}`: "{} args in arguments is ignored: it is not a list of strings; " +
			"flags in arguments is ignored: it is not an object of strings",
	} {
		answer := plugtest.Result(`{"arguments":` + string(rawjson.String(arguments)) + `}`)
		r, err := tr.reply(&hook.Event{Point: hook.CommandBefore}, answer)
		if got := string(hook.Object(r.Set).JSON()) + " " + strings.Join(r.Notes, "; "); err != nil || got != want {
			t.Errorf("%s: got %s (%v), want %s", arguments, got, err, want)
		}
	}
}
