package dialect

import (
	"encoding/json"
	"testing"
)

func TestAsText(t *testing.T) {
	for value, want := range map[string]string{
		"": `""`, "null": `""`, `""`: `""`, `"a\u0062"`: `"a\u0062"`, "7": `"7"`, `{"a":"b"}`: `"{\"a\":\"b\"}"`,
	} {
		if got := string(AsText(json.RawMessage(value))); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

func TestOr(t *testing.T) {
	if got := Or(nil, json.RawMessage("null"), json.RawMessage("false"), json.RawMessage("1")); string(got) != "false" {
		t.Errorf("got %s", got)
	}
	if got := Or(nil, json.RawMessage("null")); got != nil {
		t.Errorf("got %s", got)
	}
}

func TestPlain(t *testing.T) {
	for value, want := range map[string]string{"": "", "null": "", `"a\u0062"`: "ab", "7": "7", `["a"]`: `["a"]`} {
		if got := Plain(json.RawMessage(value)); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}
