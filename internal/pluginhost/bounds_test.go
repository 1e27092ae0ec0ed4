package pluginhost_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// TestCapabilitiesThatCannotBeEnforced: a plugin whose capabilities cannot be enforced is refused,
// unless the configuration allows it.
func TestCapabilitiesThatCannotBeEnforced(t *testing.T) {
	none := errors.New("forbidden here")
	for _, c := range []struct {
		rule, config string
		system       sandbox.System
		state        dialect.State
		says         string
	}{
		{"nothing can be enforced: refused", "", sandbox.System{Namespaces: none, Landlock: none, Filter: none}, dialect.Broken, "read:fs:"},
		{"nothing can be enforced: allowed", "allow_unenforced = true\n", sandbox.System{Namespaces: none, Landlock: none, Filter: none}, dialect.Ready, ""},
		{"no namespaces: hosts are refused", "capabilities = [\"net:api.example:443\"]\n", sandbox.System{Namespaces: none}, dialect.Broken, "net:api.example:443"},
		{"no namespaces: the whole network is refused without a token", "capabilities = [\"net:*\"]\n", sandbox.System{Namespaces: none}, dialect.Broken, "set token in [server]"},
		{"no redirection: all ports are refused", "capabilities = [\"net:api.example:*\"]\n", sandbox.System{Redirect: none}, dialect.Broken, "net:api.example:*"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := confinable(t)
			h.lookers()
			h.config("[plugins.keeper]\n" + c.config)
			o := h.options()
			o.Dialects = []string{"kaged"}
			o.SetSystem(&c.system)
			host := h.openWith(o)
			p := host.Plugins()[0]
			if p.State != c.state || p.Error != nil && !strings.Contains(*p.Error, c.says) {
				t.Fatalf("%+v", p)
			}
			findings := host.Doctor()
			if c.state == dialect.Ready {
				fireAll(t, host)
				if got := h.seen("kaged"); got != free {
					t.Errorf("saw %q", got)
				}
				if len(findings) == 0 || findings[0].Severity != pluginhost.SeverityWarning || !strings.Contains(findings[0].Problem, "not enforced") {
					t.Errorf("%+v", findings)
				}
				return
			}
			if len(findings) != 1 || findings[0].Severity != pluginhost.SeverityError || !strings.Contains(findings[0].Fix, `allow_unenforced = true under [plugins."keeper"]`) ||
				!strings.Contains(findings[0].Problem, "forbidden here") {
				t.Errorf("%+v", findings)
			}
			if got := h.seen("kaged"); strings.Contains(got, "note") {
				t.Errorf("a plugin that must be refused ran: %q", got)
			}
		})
	}
	t.Run("no namespaces: files are protected nevertheless", func(t *testing.T) {
		h := confinable(t)
		h.lookers()
		o := h.options()
		o.Dialects = []string{"kaged"}
		o.SetSystem(&sandbox.System{Namespaces: none, Scoped: true})
		host := h.openWith(o)
		fireAll(t, host)
		if got := h.seen("kaged"); got != confined {
			t.Errorf("saw %q", got)
		}
		d, err := host.Plugin("keeper")
		if err != nil || len(d.Capabilities) != 3 || d.Capabilities[0].Status != "partial" || d.Capabilities[2].Capability != "net:[]" || d.Capabilities[2].Status != "enforced" {
			t.Errorf("%+v, %v", d.Capabilities, err)
		}
		level := func(f pluginhost.Finding) bool {
			return f.Severity == pluginhost.SeverityWarning && f.Plugin == "keeper" && strings.Contains(f.Problem, "Landlock alone") &&
				strings.Contains(f.Problem, "EPERM") && strings.Contains(f.Fix, "user namespaces")
		}
		if findings := host.Doctor(); !slices.ContainsFunc(findings, level) {
			t.Errorf("no finding explains the level of the sandbox: %+v", findings)
		}
	})
}

// TestBoundsOfAPluginThatHasAnotherName: a plugin is refused if the configuration restricts it
// under a name that is known only once it runs.
func TestBoundsOfAPluginThatHasAnotherName(t *testing.T) {
	for _, c := range []struct {
		rule, config string
		state        dialect.State
	}{
		{"under the name it gives itself", "[plugins.real]\ncapabilities = []\n", dialect.Broken},
		{"limits under the name it gives itself", "[plugins.real.limits]\nprocesses = 5\n", dialect.Broken},
		{"under the name of its file", "[plugins.file]\ncapabilities = []\n", dialect.Ready},
		{"under both", "[plugins.file]\ncapabilities = []\n[plugins.real]\ncapabilities = []\n", dialect.Ready},
		{"other settings may be under its own name", "[plugins.real]\npriority = 5\n", dialect.Ready},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := confinable(t)
			h.write(".local/scaffold/plugins/file", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  printf '{"jsonrpc":"2.0","id":%s,"result":{"name":"real","hooks":[],"tools":[]}}\n' "$id"
done
`, 0o755)
			h.config(c.config)
			p := h.open().Plugins()[0]
			if p.State != c.state || c.state == dialect.Broken && !strings.Contains(*p.Error, `[plugins."file"]`) {
				t.Errorf("%+v, %v", p, p.Error)
			}
		})
	}
}

func TestBadBoundsAreAnErrorWithLineAndColumn(t *testing.T) {
	h := newTestHome(t)
	for _, c := range []struct{ rule, config, want string }{
		{"capability", "[plugins.a]\ncapabilities = [\"net:[]\", \"read:etc\"]\n", "config.toml:2:27"},
		{"relative path", "[plugins.a]\ncapabilities = [\"read:fs:etc\"]\n", "config.toml:2:17"},
		{"no list", "[plugins.a]\ncapabilities = \"net:[]\"\n", "config.toml:2:16"},
		{"sandbox", "sandbox = \"maybe\"\n", "config.toml:1:11"},
		{"memory", "[plugins.a.limits]\nmemory = \"lots\"\n", "config.toml:2:10"},
		{"processes", "[plugins.a.limits]\nprocesses = 0\n", "config.toml:2:13"},
		{"CPU time", "[plugins.a.limits]\ncpu_time = \"soon\"\n", "config.toml:2:12"},
		{"unknown limit", "[plugins.a.limits]\nmemroy = \"1GB\"\n", "config.toml:2:1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h.config(c.config)
			_, err := pluginhost.Open(t.Context(), h.options())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s in it", err, c.want)
			}
		})
	}
}

// TestLimitsOfTheConfiguration: limits apply to a plugin with a sandbox and without one.
func TestLimitsOfTheConfiguration(t *testing.T) {
	for rule, bounds := range map[string]string{"without a sandbox": "", "in a sandbox": "capabilities = []\n"} {
		t.Run(rule, func(t *testing.T) {
			h := confinable(t)
			h.write(".config/dotagent/plugins/dotagent-plugin-dot", `#!/bin/sh
case $1 in
info) echo '{"name":"dot","kinds":["preflight"]}' ;;
*) read -r input; echo '{"ok":true,"limits":"'$(ulimit -n)' '$(ulimit -t)' '$(ulimit -d)'","padding":"................................................"}' ;;
esac
`, 0o755)
			fire := func(limits string) *hook.Outcome {
				t.Helper()
				h.config(wiring + "[plugins.dot]\n" + bounds + "[plugins.dot.limits]\n" + limits)
				host := h.open()
				out, err := host.Fire(t.Context(), hook.TurnBegin, json.RawMessage(`{"session_id":"s","working_dir":"/","user_text":"hi"}`))
				if err != nil || len(out.Steps) != 1 {
					t.Fatalf("%+v, %v; %+v", out, err, host.Doctor())
				}
				return out
			}
			out := fire("open_files = 50\ncpu_time = \"60s\"\nmemory = \"64MB\"\n")
			if step := out.Steps[0]; step.Err != nil || !strings.Contains(string(step.Received), "50 60 65536") {
				t.Errorf("%s, %v", step.Received, step.Err)
			}
			if step := fire("output = \"60B\"\n").Steps[0]; !errors.Is(step.Err, hook.TooLarge) {
				t.Errorf("output: %v", step.Err)
			}
		})
	}
}

// TestStorageIsWhatTheConfigurationGrants: the configuration, not the manifest, decides about
// storage.
func TestStorageIsWhatTheConfigurationGrants(t *testing.T) {
	for _, c := range []struct{ rule, config, want string }{
		{"as declared", "", "true"},
		{"nothing granted", "capabilities = []\n", "error"},
		{"granted", "capabilities = [\"kaged:storage:write\"]\n", "true"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := confinable(t)
			h.write(".local/share/kaged/plugins/storer/manifest.yaml", `name: storer
version: 1.0.0
kaged_api: 1
description: stores
command: ["./run"]
methods: [storer.put]
capabilities: ["kaged:storage:write"]
`, 0o644)
			h.write(".local/share/kaged/plugins/storer/run", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"initialized"'*) continue ;;
  *'"initialize"'*) r='{"name":"storer","version":"1.0.0","api_version":1,"methods":["storer.put"],"notifications":[],"capabilities_used":[]}' ;;
  *storer.put*)
    echo '{"jsonrpc":"2.0","id":"mine","method":"kaged.storage.put","params":{"key":"k","value":1}}'
    IFS= read -r line
    case $line in *'"error"'*) r='"error"' ;; *) r=true ;; esac ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
			h.config("[plugins.storer]\n" + c.config)
			got, err := h.open().CallMethod(t.Context(), "storer", "storer.put", nil)
			if err != nil || strings.Trim(string(got), `"`) != c.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestTheWholeNetworkWithAToken: Landlock alone cannot separate the daemon's port from others, so
// the server's token must protect the daemon.
func TestTheWholeNetworkWithAToken(t *testing.T) {
	h := confinable(t)
	h.lookers()
	h.config("[server]\ntoken = \"0123456789abcdef\"\n[plugins.keeper]\ncapabilities = [\"net:*\"]\n")
	o := h.options()
	o.Dialects = []string{"kaged"}
	o.SetSystem(&sandbox.System{Namespaces: errors.New("forbidden here")})
	p, err := h.openWith(o).Plugin("keeper")
	if err != nil || p.Error != nil && strings.Contains(*p.Error, "net:*") || len(p.Capabilities) != 1 || p.Capabilities[0].Status == string(sandbox.NotEnforced) {
		t.Errorf("%+v, %v", p, err)
	}
}
