package config

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestShownHasNoSecret: a secret at any place of the file is not shown.
func TestShownHasNoSecret(t *testing.T) {
	list := func(items ...any) []any { return items }
	for _, c := range []struct {
		key   string
		value any
		want  string // the text that is shown; "": none
	}{
		{"server.token", "hunter2", ""},
		{"engine.url", "nats://me:hunter2@a.example:4222,nats://b.example:4222", `"nats://…@a.example:4222,nats://b.example:4222"`},
		{"model.base_url", "https://a.example/v1?key=hunter2", `"https://a.example/v1?…"`},
		{"plugins.notes.config.apiKey", "hunter2", ""},
		{"plugins.notes.config.keyboard", "dvorak", `"dvorak"`},
		{"plugins.notes.config.servers", list(map[string]any{"name": "a", "password": "hunter2"}), `[{"name":"a","password":"…"}]`},
		{"plugins.notes.priority", int64(7), `7`},
		{"mcp[0].command", list("srv", "--token", "hunter2", "-H", "Authorization: Bearer hunter2", "--api-key=hunter2", "https://me:hunter2@a.example/"),
			`["srv","--token","…","-H","Authorization:…","--api-key=…","https://…@a.example/"]`},
		{"mcp[0].env.ANY", "hunter2", ""},
		{"mcp[0].env.ANY", "${TOKEN}", `"${TOKEN}"`},
		{"mcp[0].headers.X", "Bearer ${TOKEN}hunter2", ""},
		{"mcp[0].url", "https://a.example/s/hunter2/mcp", `"https://a.example/…"`},
	} {
		value, secret := shown(c.key, c.value)
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(raw); strings.Contains(got, "hunter2") || (c.want == "") != secret || c.want != "" && got != c.want {
			t.Errorf("%s = %v is shown as %s (secret: %v), want %s", c.key, c.value, got, secret, c.want)
		}
	}
}
