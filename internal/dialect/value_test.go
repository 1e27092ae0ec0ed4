package dialect

import (
	"encoding/json"
	"testing"
)

// TestAsText: a string stays as it is written, a missing value is empty, and any other value is
// serialised.
func TestAsText(t *testing.T) {
	for value, want := range map[string]string{
		"": `""`, "null": `""`, `""`: `""`, `"a\u0062"`: `"a\u0062"`, "7": `"7"`, `{"a":"b"}`: `"{\"a\":\"b\"}"`,
	} {
		if got := string(AsText(json.RawMessage(value))); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}

// TestOr: null counts as missing, and false does not.
func TestOr(t *testing.T) {
	if got := Or(nil, json.RawMessage("null"), json.RawMessage("false"), json.RawMessage("1")); string(got) != "false" {
		t.Errorf("got %s", got)
	}
	if got := Or(nil, json.RawMessage("null")); got != nil {
		t.Errorf("got %s", got)
	}
}

// TestPlain: a string is decoded, a missing value is empty, and any other value is returned as
// JSON.
func TestPlain(t *testing.T) {
	for value, want := range map[string]string{"": "", "null": "", `"a\u0062"`: "ab", "7": "7", `["a"]`: `["a"]`} {
		if got := Plain(json.RawMessage(value)); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}
