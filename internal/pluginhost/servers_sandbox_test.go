package pluginhost_test

import "testing"

// TestAnMCPServerIsConfined: a server with capabilities in the configuration is confined to them,
// and one without any has the rights of the user.
func TestAnMCPServerIsConfined(t *testing.T) {
	for _, tc := range []struct {
		rule, want string
		grants     func(h testHome) string
	}{
		{"with capabilities", confined, func(h testHome) string { return "[plugins.server]\n" + h.grants() }},
		{"without", free, func(testHome) string { return "" }},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			h := confinable(t)
			h.write("server/run", "#!/bin/sh\n"+h.look()+`while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"; continue ;;
  *'"method":"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"server","version":"1"}}' ;;
  *'"method":"notifications/'*) continue ;;
  *'"method":"tools/list"'*) r='{"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*) look mcp; r='{"content":[{"type":"text","text":"done"}]}' ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
			h.write(".config/patchbay/config.toml", "[[mcp]]\nname = \"server\"\ncommand = [\""+h.home+"/server/run\"]\n"+tc.grants(h), 0o600)
			host := h.open()
			tools := host.Tools()
			if len(tools) != 1 {
				t.Fatalf("tools %+v, plugins %+v", tools, host.Plugins())
			}
			if r, err := host.CallTool(t.Context(), tools[0].Name, struct{}{}); err != nil || !r.Success {
				t.Fatalf("%+v, %v", r, err)
			}
			if got := h.seen("mcp"); got != tc.want {
				t.Errorf("it saw %q, wanted %q", got, tc.want)
			}
		})
	}
}
