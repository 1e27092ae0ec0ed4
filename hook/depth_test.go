package hook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

func nested(levels int) string {
	return strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels)
}

// TestTheDeepestEventHasATrace: an event nested as deep as allowed can be recorded and fired again.
func TestTheDeepestEventHasATrace(t *testing.T) {
	deepest := json.RawMessage(nested(rawjson.MaxForeign))
	h := answer("deep", ToolBefore, Reply{Set: Object{{Name: "arguments", Value: deepest}}, Sent: deepest, Received: deepest})
	out := fire(t, ToolBefore, `{"tool":"shell","arguments":`+nested(maxPayload-1)+`}`, h)
	text, err := json.Marshal(out.Trace())
	if err != nil {
		t.Fatalf("the trace cannot be encoded: %v", err)
	}
	if err := rawjson.Check([]byte(`{"kind":"point","data":{"outcome":` + string(text) + `}}`)); err != nil {
		t.Errorf("the record of the trace: %v", err)
	}
	fire(t, ToolBefore, string(out.Payload), h)
}

func TestAPayloadThatIsTooDeepIsRefused(t *testing.T) {
	var b Bus
	_, err := b.Fire(t.Context(), ToolBefore, json.RawMessage(`{"arguments":`+nested(maxPayload)+`}`))
	if !errors.Is(err, ErrBadPayload) || !strings.Contains(err.Error(), "the limit of 2000 levels") {
		t.Errorf("err = %v", err)
	}
}

// TestADeepChangeIsFound: two values that differ only far inside are compared once, not once a
// level.
func TestADeepChangeIsFound(t *testing.T) {
	before, _ := rawjson.Parse([]byte(`{"a":` + nested(1_000) + `}`))
	after, _ := rawjson.Parse([]byte(`{"a":` + strings.Replace(nested(1_000), "1", "2", 1) + `}`))
	changes := diffObjects(before, after)
	if len(changes) != 1 || string(changes[0].Old) != "1" || string(changes[0].New) != "2" || changes[0].Path != "/a"+strings.Repeat("/0", 1_000) {
		t.Errorf("%d changes: %.200v", len(changes), changes)
	}
}
