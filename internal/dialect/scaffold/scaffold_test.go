package scaffold

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestMain(m *testing.M) {
	plugtest.Main(m, plugtest.Fake{Answer: answer, Target: "hook/post_user_input", Huge: mostReply + 1})
}

// answer plays a plugin that works: it adds its name to the message.
func answer(name, method string, params json.RawMessage) any {
	switch method {
	case "initialize":
		return map[string]any{"name": name, "hooks": []string{"post_user_input"},
			"tools": []any{map[string]any{"name": "echo", "description": "says it back"}}}
	case "hook/post_user_input":
		var p struct{ Message string }
		_ = json.Unmarshal(params, &p)
		return map[string]any{"action": "continue", "message": p.Message + " " + name}
	case "tool/execute":
		return map[string]any{"success": true, "result": params}
	}
	return map[string]any{"ok": true}
}

func install(t *testing.T, home string, behaviours ...string) {
	dir := pluginDir(t, home)
	for _, b := range behaviours {
		plugtest.InstallFake(t, dir, b)
	}
}

func pluginDir(t *testing.T, home string) string {
	dir := filepath.Join(home, ".local", "scaffold", "plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

var suite = plugtest.Suite{
	Dialect: New(), Install: install,
	Point: hook.TurnInput, Payload: `{"message":"hi"}`,
	Works: func(payload json.RawMessage, plugin string) bool { return strings.Contains(string(payload), plugin) },
	// docs/protocols/scaffold.md, row S43
	Differs: map[string]hook.Kind{"wrong-id": ""},
}

func TestMisbehaviour(t *testing.T) { suite.Run(t) }
