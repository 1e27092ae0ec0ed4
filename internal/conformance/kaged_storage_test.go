package conformance

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestStorageParamsThatDoNotFit: the message says what is wrong with the params.
func TestStorageParamsThatDoNotFit(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"kaged.storage.get", `{"key":"notes"}`, ""},
		{"kaged.storage.get", `{}`, "key is not a string"},
		{"kaged.storage.get", `{"key":""}`, "it is empty"},
		{"kaged.storage.put", `{"key":"` + strings.Repeat("k", 513) + `","value":1}`, "513 bytes, at most 512 are allowed"},
		{"kaged.storage.put", `{"key":"notes"}`, "there is no value"},
		{"kaged.storage.put", `{"key":"notes","value":null}`, ""},
		{"kaged.storage.list", `{}`, ""},
		{"kaged.storage.list", `{"prefix":1}`, "prefix is not a string"},
	} {
		o, err := rawjson.Parse([]byte(c.params))
		if err != nil {
			t.Fatal(err)
		}
		if got := storageMisfit(c.method, o); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %.40s: %q, want %q", c.method, c.params, got, c.want)
		}
	}
}
