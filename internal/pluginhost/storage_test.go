package pluginhost_test

import (
	"strings"
	"testing"
)

// TestStorageIsLimited: storage is limited as the configuration says, and the plugin gets an error
// that names the limit.
func TestStorageIsLimited(t *testing.T) {
	home := newTestHome(t)
	home.write(".local/share/kaged/plugins/filler/manifest.yaml", `name: filler
version: 1.0.0
kaged_api: 1
description: stores
command: ["./run"]
methods: [fill.put, fill.delete]
capabilities: ["kaged:storage:read", "kaged:storage:write"]
`, 0o644)
	home.write(".local/share/kaged/plugins/filler/run", `#!/bin/sh
ask() {
  printf '{"jsonrpc":"2.0","method":"kaged.storage.%s","params":%s,"id":"q"}\n' "$1" "$2"
  IFS= read -r r
}
while IFS= read -r line; do
  id=${line##*'"id":'} id=${id%\}}
  params=$(printf '%s' "$line" | sed 's/.*"params":\(.*\),"id":[0-9]*}$/\1/')
  case "$line" in
  *'"method":"initialize"'*) r='{"name":"filler","version":"1.0.0","api_version":1,"methods":["fill.put","fill.delete"],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"initialized"'*) continue ;;
  *'"method":"fill.put"'*) ask put "$params" ;;
  *'"method":"fill.delete"'*) ask delete "$params" ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
	home.config("sandbox = \"off\"\n[plugins.filler.limits]\nstorage = \"1KB\"\nstorage_keys = 2\n")
	host := home.open()
	call := func(method string, params map[string]any) string {
		t.Helper()
		result, err := host.CallMethod(t.Context(), "filler", method, params)
		if err != nil {
			t.Fatal(err)
		}
		return string(result)
	}
	large := strings.Repeat("x", 900)
	for _, step := range []struct {
		method string
		params map[string]any
		want   []string
	}{
		{"fill.put", map[string]any{"key": "a", "value": large}, []string{`"result":{}`}},
		{"fill.put", map[string]any{"key": "b", "value": large}, []string{"storage is full", "at most 1024 bytes", "limits.storage", "[plugins.filler.limits]"}},
		{"fill.put", map[string]any{"key": "b", "value": 1}, []string{`"result":{}`}},
		{"fill.put", map[string]any{"key": "c", "value": 1}, []string{"storage is full", "of at most 2 keys"}},
		{"fill.delete", map[string]any{"key": "a"}, []string{`"result":{}`}},
		{"fill.put", map[string]any{"key": "c", "value": large}, []string{`"result":{}`}},
	} {
		got := call(step.method, step.params)
		for _, w := range step.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s of %v: %s, want %q in it", step.method, step.params["key"], got, w)
			}
		}
	}
}
