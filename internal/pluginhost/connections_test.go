package pluginhost_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestAReloadedPluginIsWiredAnew: a hook that is new in a changed file is called from then on.
func TestAReloadedPluginIsWiredAnew(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	const begin = "@on_begin\nasync def b(ctx): pass\n"
	h.write(".agent/plugins/grows.py", begin, 0o644)
	host := h.open()
	fire := func(p hook.Point, payload string) string {
		t.Helper()
		out, err := host.Fire(t.Context(), p, json.RawMessage(payload))
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Payload)
	}
	fire(hook.TurnBegin, `{}`)
	h.write(".agent/plugins/grows.py", begin+"@on_final\nasync def f(ctx, text): return text + '!'\n", 0o644)
	fire(hook.TurnBegin, `{}`)
	if got := fire(hook.TurnFinal, `{"text":"hi"}`); got != `{"text":"hi!"}` {
		t.Errorf("turn.final: %s", got)
	}
	if got := strings.Join(host.Plugins()[0].Hooks, " "); got != "on_begin on_final" {
		t.Errorf("hooks: %s", got)
	}
}

// TestAConnectionToItsOwnPointDoesNotCallAHookTwice: such a table is ignored, and is a finding.
func TestAConnectionToItsOwnPointDoesNotCallAHookTwice(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	h := newTestHome(t)
	h.scaffold("scaf", "scaf", 500)
	h.config("[[connect]]\nplugin = \"scaf\"\nhook = \"post_user_input\"\npoint = \"turn.input\"\n")
	host := h.open()
	out, err := host.Fire(t.Context(), hook.TurnInput, json.RawMessage(`{"message":"hi"}`))
	if err != nil || string(out.Payload) != `{"message":"hi scaf"}` {
		t.Errorf("%s, %v", out.Payload, err)
	}
	for _, f := range host.Doctor() {
		if strings.Contains(f.Problem, "is ignored: plugin scaf has its hook post_user_input there without a connection") && f.Fix == "remove the table" {
			return
		}
	}
	t.Errorf("findings: %+v", host.Doctor())
}

// TestAConnectionOfAPluginWithoutKindsToItsOwnPoint: such a hook is called only by name, so the
// connection has an effect: the hook is called for every event, and once for one that names it.
func TestAConnectionOfAPluginWithoutKindsToItsOwnPoint(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	h := newTestHome(t)
	h.write(".config/dotagent/plugins/dotagent-plugin-bare", `#!/bin/sh
case "$1" in
info) echo '{"name":"bare"}' ;;
*) cat >/dev/null; echo '{"ok":true}' ;;
esac
`, 0o755)
	h.config("[[connect]]\nplugin = \"bare\"\nhook = \"sink\"\npoint = \"job.sink\"\n")
	host := h.open()
	byName := hook.WithChoice(t.Context(), hook.Choice{Dialect: "dotagent", Plugins: []string{"bare"}, Only: true})
	for _, ctx := range []context.Context{t.Context(), byName} {
		out, err := host.Fire(ctx, hook.JobSink, json.RawMessage(`{"agent":"a","message":"m"}`))
		if err != nil || len(out.Steps) != 1 || out.Steps[0].Hook != "sink" || out.Steps[0].Err != nil {
			t.Errorf("%+v, %v", out, err)
		}
	}
	if findings := host.Doctor(); len(findings) != 0 {
		t.Errorf("findings: %+v", findings)
	}
}

// TestEveryDialectTakesPartInOneTurn: plugins of the five dialects that have hooks take part in one
// turn of an agent, some of them by connections. MCP servers have none. The traces show which were
// called.
func TestEveryDialectTakesPartInOneTurn(t *testing.T) {
	for _, tool := range []string{"sh", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	h := newTestHome(t)
	h.scaffold("scaf", "scaf", 500)
	h.write(".agent/plugins/signer.py", `
@on_begin
def begin(ctx):
    ctx.state["seen"] = []

@on_tool_call
def call(ctx, call):
    ctx.state["seen"].append(call.tool_name)

@on_final
def final(ctx, text):
    return text + " / " + ",".join(ctx.state["seen"])
`, 0o644)
	h.write(".config/dotagent/plugins/dotagent-plugin-keeper", `#!/bin/sh
case "$1" in
info) echo '{"name":"keeper","kinds":["preflight","sink","notify"]}' ;;
*) cat >>"$HOME/kept"; echo '{"ok":true}' ;;
esac
`, 0o755)
	h.write(".local/share/mine/plugins/adder/mine-plugin.toml", `[plugin]
name = "adder"
version = "1.0.0"
description = "adds a flag"
author = "test"
protocol_version = "1.0.0"
[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
`, 0o644)
	h.write(".local/share/mine/plugins/adder/mine-plugin-adder", `#!/bin/sh
sed 's/.*"context":\(.*\)}$/{"status":"ok","context":\1}/; s/"flags":{/"flags":{"added":"yes",/'
`, 0o755)
	h.write(".local/share/kaged/plugins/noter/manifest.yaml", `name: noter
version: 1.0.0
kaged_api: 1
description: notes
command: ["./run"]
hooks: [on_session_start]
capabilities: ["exec:sed:/usr/bin/sed"]
`, 0o644)
	h.write(".local/share/kaged/plugins/noter/run", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'} id=${id%\}}
  case "$line" in
  *'"method":"initialize"'*) r='{"name":"noter","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"initialized"'*) continue ;;
  *on_session_start*) r='{"inject":"a note"}' ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
	h.config(`
[[connect]]
plugin = "keeper"
hook = "preflight"
point = "turn.begin"
[[connect]]
plugin = "keeper"
hook = "sink"
point = "turn.final"
[[connect]]
plugin = "keeper"
hook = "notify"
point = "turn.done"
[[connect]]
plugin = "adder"
hook = "preexec"
point = "tool.before"
[[connect]]
plugin = "noter"
hook = "on_session_start"
point = "prompt.context"
`)
	host := h.open()
	asked := make(map[string]bool)
	fire := func(p hook.Point, payload string) string {
		t.Helper()
		out, err := host.Fire(hook.WithRequest(t.Context(), "turn"), p, json.RawMessage(payload))
		if err != nil || out.Verdict != hook.Continue {
			t.Fatalf("%s: %v, %+v", p, err, out)
		}
		for _, s := range out.Steps {
			if s.Err != nil {
				t.Errorf("%s: %v", p, s.Err)
			}
			asked[s.Dialect] = true
		}
		return string(out.Payload)
	}

	fire(hook.TurnBegin, `{"session_id":"s","working_dir":"/","user_text":"hi"}`)
	if got := fire(hook.TurnInput, `{"message":"hi"}`); got != `{"message":"hi scaf"}` {
		t.Errorf("turn.input: %s", got)
	}
	if got := fire(hook.PromptContext, `{"user_message":"hi","dynamic_context":"ctx"}`); !strings.Contains(got, `ctx\n\na note`) {
		t.Errorf("prompt.context: %s", got)
	}
	if got := fire(hook.ToolBefore, `{"tool":"shell","call_id":"1","arguments":{"cmd":"ls"}}`); !strings.Contains(got, `"added":"yes"`) {
		t.Errorf("tool.before: %s", got)
	}
	if got := fire(hook.TurnFinal, `{"text":"done"}`); got != `{"text":"done / shell"}` {
		t.Errorf("turn.final: %s", got)
	}
	fire(hook.TurnDone, `{"text":"done / shell","tools":[],"duration":1,"error":null}`)

	for _, dialect := range []string{"scaffold", "kaged", "python", "dotagent", "mine"} {
		if !asked[dialect] {
			t.Errorf("no %s plugin took part; plugins: %s", dialect, states(host))
		}
	}
	d, err := host.Plugin("adder")
	if err != nil || len(d.Wiring) != 2 || d.Wiring[0].Connected == d.Wiring[1].Connected {
		t.Errorf("native and connected wiring are not shown apart: %+v, %v", d, err)
	}
}
