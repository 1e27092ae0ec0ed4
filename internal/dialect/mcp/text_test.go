package mcp

import (
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestTextOf: plugins that check a result see all of its texts, since a client gets all of them.
func TestTextOf(t *testing.T) {
	for _, c := range []struct{ rule, result, want string }{
		{"texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb"},
		{"structured content alone", `{"structuredContent":{"n":1}}`, `{"n":1}`},
		{"structured content beside another text", `{"content":[{"type":"text","text":"fine"}],"structuredContent":{"n":1}}`, "fine\n{\"n\":1}"},
		{"structured content that a text repeats", `{"content":[{"type":"text","text":"{ \"b\": 2, \"n\": 1 }"}],"structuredContent":{"n":1,"b":2}}`, `{ "b": 2, "n": 1 }`},
		{"an embedded resource", `{"content":[{"type":"resource","resource":{"uri":"u","text":"a"}}]}`, "a"},
		{"a link to a resource", `{"content":[{"type":"resource_link","uri":"u","name":"n","title":"n","description":"d"}]}`, "[resource u, n, d]"},
		{"a picture", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`, "[image image/png, 3 bytes]"},
	} {
		o, err := rawjson.Parse([]byte(c.result))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := textOf(o); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.rule, got, err, c.want)
		}
	}
}
