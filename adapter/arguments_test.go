package adapter

import (
	"encoding/json"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// TestWithArguments: a word in the arguments has one spelling, whatever the model wrote.
func TestWithArguments(t *testing.T) {
	for raw, want := range map[string]string{
		`{"cmd":"\u0072m -rf \/","in":{"\u0061":"\u003c"}}`: `{"cmd":"rm -rf /","in":{"a":"<"}}`,
		`"{\"cmd\":\"\\u0072m\"}"`:                          `{"cmd":"rm"}`,
		`{"text":"\u0072\ud83d"}`:                           `{"text":"r\ud83d"}`,
		`{"cmd":"a","cmd":"b"}`:                             `{"cmd":"b"}`,
		`null`:                                              `{}`,
	} {
		if got := WithArguments(model.ToolCall{}, json.RawMessage(raw)); string(got.Arguments) != want || got.Malformed != "" {
			t.Errorf("%s: %+v, want %s", raw, got, want)
		}
	}
}
