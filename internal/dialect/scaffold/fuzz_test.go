package scaffold

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// longestError limits what an error or a warning repeats of a plugin's output.
const longestError = 1 << 10

// FuzzReply: at every point, any result of a hook sets only valid JSON in fields that the point
// has, and the verdict is one that the point allows.
func FuzzReply(tf *testing.F) {
	f := variants.Of(tf)
	const payload = `{"message":"m","tool":"t","arguments":{"a":1},"result":{"stdout":"x","exit_code":1},"tool_calls":[{"name":"n"},7],"args":["a"],"text":"t"}`
	for _, result := range []string{
		`null`, `{}`, `{"action":"continue","message":"n"}`, `{"action":"stop","result":"no","success":true}`, `{"action":"skip"}`, `{"action":1}`,
		`{"arguments":"{\"a\": 2}"}`, `{"arguments":"{\"args\":[1],\"flags\":{}}"}`, `{"arguments":"["}`, `{"result":"{\"stdout\":1}"}`, `[]`, `7`,
		`{"dynamic_context":"\ud800","base_prompt":{}}`,
	} {
		f.Add([]byte(payload), []byte(result))
	}
	f.Add([]byte(`{"arguments":"{}","result":"r","tool_calls":{}}`), []byte(`{"arguments":"x","result":"y"}`))
	f.Add([]byte(`{}`), []byte(`{"action":"stop","result":"no","suue}ccess":true}`))
	f.Fuzz(func(t *testing.T, payload, result []byte) {
		p, err := rawjson.Parse(payload)
		if err != nil || rawjson.Check(result) != nil { // wire.Serial passes only valid JSON on
			return
		}
		for _, list := range [][]translation{native, elsewhere} {
			for i := range list {
				checkReply(t, &list[i], p, rawjson.Clean(result))
			}
		}
		checkTool(t, rawjson.Clean(result))
	})
}

func checkReply(t *testing.T, tr *translation, p hook.Object, result json.RawMessage) {
	if params := tr.params(&hook.Event{Payload: p}); rawjson.Check(params) != nil {
		t.Errorf("%s at %s is sent %s", tr.name, tr.point, params)
	}
	reply, err := tr.reply(&hook.Event{Point: tr.point, Payload: p}, plugtest.Result(result))
	if err != nil {
		if !errors.Is(err, hook.Garbled) || len(err.Error()) > longestError {
			t.Errorf("%s at %s: %d bytes of error: %.100q", tr.name, tr.point, len(err.Error()), err)
		}
		return
	}
	spec, _ := tr.point.Spec()
	refuses := tr.point == hook.CommandValidate || tr.point == hook.CommandBefore // there a stop is a refusal
	if reply.Verdict == hook.Skip && !spec.MaySkip || reply.Verdict == hook.Stop && spec.NoStop || reply.Verdict == hook.Deny && !refuses {
		t.Errorf("%s at %s: %s is %s", tr.name, tr.point, result, reply.Verdict)
	}
	for _, field := range reply.Set {
		if rawjson.Check(field.Value) != nil || !slices.Contains(spec.Fields, field.Name) {
			t.Errorf("%s at %s: %s sets %s to %q", tr.name, tr.point, result, field.Name, field.Value)
		}
	}
}

// checkTool checks that only a tool that failed has an error.
func checkTool(t *testing.T, result json.RawMessage) {
	r, err := toolResult("t", plugtest.Result(result))
	if err == nil && r.Success == (r.Error != "") {
		t.Errorf("the tool's result %s is %+v", result, r)
	}
}

// FuzzWarnings: warnings about a faulty manifest repeat little of it.
func FuzzWarnings(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"name":"p","version":7,"hooks":["no_such",1],"tools":[{"name":1},{"name":"t","parameters":[{}]},{"name":"t"},{"name":"t"}]}`,
		`{"name":"p","priority":` + strings.Repeat("9", 5000) + `}`, `{"name":"p","version":` + strings.Repeat("9", 5000) + `}`,
		`{"name":"p","hooks":["` + strings.Repeat("x", 5000) + `"]}`, `{"name":"p","tools":[{"name":"` + strings.Repeat("x", 5000) + `"},{"name":"` + strings.Repeat("x", 5000) + `"}]}`,
		`{"name":"p","tools":[` + strings.Repeat(`0,`, 300) + `0]}`, `{"name":` + strings.Repeat("9", 5000) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			if len(err.Error()) > longestError {
				t.Errorf("%d bytes of error: %.100q", len(err.Error()), err)
			}
			return
		}
		if len(m.warnings) > 100 {
			t.Errorf("%d warnings", len(m.warnings))
		}
		for _, w := range m.warnings {
			if len(w) > longestError {
				t.Errorf("%d bytes of warning: %.100q", len(w), w)
			}
		}
	})
}
