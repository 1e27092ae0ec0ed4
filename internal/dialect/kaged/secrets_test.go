package kaged

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// TestUnknownSecrets: a plugin that names its secrets knows no others. One that names none may want
// any, but no table called config.
func TestUnknownSecrets(t *testing.T) {
	for _, c := range []struct {
		rule, schema, secrets string
		want                  []string
	}{
		{"no schema", "", `{"token":"x"}`, nil},
		{"no schema, and a table", "", `{"config":{"token":"x"},"token":"y"}`, []string{"config"}},
		{"no schema, and a text", "", `{"config":"x"}`, nil},
		{"a schema for every name", `{"additionalProperties":{"type":"object"}}`, `{"config":{"token":"x"}}`, nil},
		{"names", `{"properties":{"token":{}}}`, `{"config":{"token":"x"},"token":"y","a":1}`, []string{"a", "config"}},
		{"a secret called config", `{"properties":{"config":{"type":"object"}}}`, `{"config":{"token":"x"}}`, nil},
	} {
		m := &Manifest{}
		if c.schema != "" {
			m.SystemConfigSchema, _ = schema.Compile(json.RawMessage(c.schema))
		}
		got, _ := New().UnknownSecrets(dialect.Found{Manifest: m}, json.RawMessage(c.secrets))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}
