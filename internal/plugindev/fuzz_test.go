package plugindev

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzArguments: for any schema of a tool, the sample is a JSON object of limited size.
func FuzzArguments(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `true`, `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"default":7}`, `{"default":{"a":1}}`,
		`{"anyOf":[{"$ref":"#/anyOf/0"}]}`, `{"type":"object","properties":{"a":{"type":"string","minLength":1e300,"maxLength":-1},"b":{"type":"integer","multipleOf":1e-300}}}`,
		`{"type":"object","required":["` + strings.Repeat(`a","`, 50) + `b"],"properties":{"a":{"$ref":"#"},"b":{"type":"array","minItems":1e9,"items":{"$ref":"#"}}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		got := arguments(schema)
		if _, err := rawjson.Parse(got); err != nil || !json.Valid(got) {
			t.Errorf("%q is given %q: %v", schema, got, err)
		}
		if len(got) > 4<<20+len(schema)*5000 {
			t.Errorf("%q is given %d bytes", schema, len(got))
		}
	})
}

// FuzzParse: a line is a command that can be run, or an error.
func FuzzParse(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"fire turn.input {}", "call x", "again {\"a\":1}", "restart", "# no", "fire  ", "quit now", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse(line)
		if err != nil {
			return
		}
		if _, bad := rawjson.Parse(c.Payload); c.Payload != nil && bad != nil {
			t.Errorf("%q has the payload %q: %v", line, c.Payload, bad)
		}
		if (c.Verb == "fire" || c.Verb == "call") && c.Name == "" {
			t.Errorf("%q sends nothing", line)
		}
	})
}
