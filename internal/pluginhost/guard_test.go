package pluginhost_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

const (
	guardHead  = "[plugin]\nname = \"guard\"\nversion = \"1.0.0\"\ndescription = \"d\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n"
	guardHooks = "[[hooks]]\ncommand = \"git\"\nstage = \"preexec\"\nmode = \"transform\"\n[[hooks]]\ncommand = \"git\"\nstage = \"notify\"\nmode = \"notify\"\n"
	guardFile  = ".local/share/mine/plugins/guard/mine-plugin.toml"
	guardProg  = ".local/share/mine/plugins/guard/mine-plugin-guard"
	gitCommand = `{"command":"git","args":["push"],"flags":{},"result":null}`
)

// logged opens a host and returns it with its log.
func (h testHome) logged(edit func(*pluginhost.Options)) (*pluginhost.Host, *plugtest.Log) {
	log := new(plugtest.Log)
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if edit != nil {
		edit(o)
	}
	return h.openWith(o), log
}

// TestAGuardThatCannotBeAsked: if a transform hook is installed and cannot be called, the events
// that it matches are aborted. Nothing runs as if the hook were not there.
func TestAGuardThatCannotBeAsked(t *testing.T) {
	for _, c := range []struct {
		rule    string
		make    func(h testHome)
		aborts  bool
		kind    hook.Kind
		says    string // in the error, or in the log if the command goes on
		isKnown bool   // its hooks are on the bus
	}{
		{"its program is missing", func(h testHome) { h.write(guardFile, guardHead+guardHooks, 0o644) },
			true, hook.Unavailable, "reinstall the plugin", true},
		{"its program is not executable", func(h testHome) {
			h.write(guardFile, guardHead+guardHooks, 0o644)
			h.write(guardProg, "#!/bin/sh\n", 0o644)
		}, true, hook.Unavailable, "chmod +x", true},
		{"its manifest lacks something else", func(h testHome) {
			h.write(guardFile, strings.Replace(guardHead, "author = \"a\"\n", "", 1)+guardHooks, 0o644)
		},
			true, hook.Unavailable, "plugin.author: is required", true},
		{"on_failure = skip lets it run", func(h testHome) {
			h.write(guardFile, guardHead+guardHooks, 0o644)
			h.config("[plugins.guard]\non_failure = \"skip\"\n")
		}, false, hook.Unavailable, "reinstall the plugin", true},
		{"it is made for another protocol version", func(h testHome) {
			h.write(guardFile, strings.Replace(guardHead, `protocol_version = "1.0.0"`, `protocol_version = "2.0.0"`, 1)+guardHooks, 0o644)
		}, false, hook.Outdated, "unsupported protocol version", true},
		{"its program is empty", func(h testHome) {
			h.write(guardFile, guardHead+guardHooks, 0o644)
			h.write(guardProg, "", 0o755)
		}, true, hook.Unavailable, "is an empty file; reinstall the plugin", true},
		{"the stage of its hook is misspelt", func(h testHome) {
			h.write(guardFile, guardHead+strings.Replace(guardHooks, `"preexec"`, `"prexec"`, 1), 0o644)
		}, true, hook.Unavailable, `hooks[0].stage: must be one of`, true},
		{"the stages of its hooks are missing", func(h testHome) {
			h.write(guardFile, guardHead+strings.NewReplacer("stage = \"preexec\"\n", "", "stage = \"notify\"\n", "").Replace(guardHooks), 0o644)
		}, true, hook.Unavailable, `hooks[0].stage: is required`, true},
		{"the commands that it is for cannot be read", func(h testHome) {
			h.write(guardFile, guardHead+strings.Replace(guardHooks, `"git"`, `"[git"`, 2), 0o644)
		}, false, "", `plugin left out" plugin=guard`, false},
		{"its hooks cannot be read", func(h testHome) { h.write(guardFile, guardHead+"[hooks]\ncommand = \"git\"\n", 0o644) },
			false, "", `plugin left out" plugin=guard`, false},
		{"its manifest cannot be read", func(h testHome) { h.write(guardFile, guardHead+"[[hooks\n", 0o644) },
			false, "", "plugin left out", false},
		{"the table of its hooks is misspelt", func(h testHome) {
			h.write(guardFile, guardHead+strings.ReplaceAll(guardHooks, "[[hooks]]", "[[hook]]"), 0o644)
			h.write(guardProg, "#!/bin/sh\n", 0o755)
		}, false, "", `hook: unknown key, ignored" plugin=guard dialect=mine fix="did you mean \"hooks\"?"`, false},
		{"its hooks are keys of another table", func(h testHome) {
			h.write(guardFile, guardHead+"hooks = [{command = \"git\", stage = \"preexec\", mode = \"transform\"}]\n", 0o644)
			h.write(guardProg, "#!/bin/sh\n", 0o755)
		}, false, "", `plugin.hooks: unknown key, ignored" plugin=guard dialect=mine fix="write each hook below a line [[hooks]]`, false},
		{"its hook is for the result of a command, which does not run then", func(h testHome) {
			h.write(guardFile, guardHead+strings.Replace(guardHooks, `"preexec"`, `"postexec"`, 1), 0o644)
		}, true, hook.Unavailable, "reinstall the plugin", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			c.make(h)
			host, log := h.logged(func(o *pluginhost.Options) {
				o.Needs = func(p pluginhost.Candidate) bool { return len(p.Points) > 0 }
			})
			out, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(gitCommand))
			told := log.String()
			if c.aborts {
				told = ""
				if err != nil {
					told = err.Error()
				}
			}
			if (err != nil) != c.aborts || (out.Verdict == hook.Deny) != c.aborts || !strings.Contains(told, c.says) {
				t.Errorf("%s, %v, log\n%s", out.Verdict, err, log)
			}
			if known := len(out.Steps) == 1; known != c.isKnown || known && !errors.Is(out.Steps[0].Err, c.kind) {
				t.Errorf("steps %+v", out.Steps)
			}
			if out, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(`{"command":"ls"}`)); err != nil || len(out.Steps) > 0 {
				t.Errorf("a command that it does not match: %v, %+v", err, out)
			}
			out, err = host.Fire(t.Context(), hook.CommandDone, json.RawMessage(gitCommand))
			if err != nil || c.isKnown != strings.Contains(log.String(), "hook=notify") {
				t.Errorf("its notify hook: %v, %+v, log\n%s", err, out, log)
			}
		})
	}
}

// TestAGuardWithAHookThatCannotBeRead: if only some hooks of a manifest can be read, these refuse
// the commands that they match. There is also a warning, because the commands of the other hooks
// are not known.
func TestAGuardWithAHookThatCannotBeRead(t *testing.T) {
	h := newTestHome(t)
	h.write(guardFile, guardHead+guardHooks+"[[hooks]]\ncommand = \"[ls\"\nstage = \"preexec\"\nmode = \"transform\"\n", 0o644)
	host, log := h.logged(nil)
	if !strings.Contains(log.String(), `msg="some of its hooks cannot be read, so events go on without them" plugin=guard`) {
		t.Errorf("log\n%s", log)
	}
	if _, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(gitCommand)); err == nil {
		t.Error("the command that the other hook matches was not refused")
	}
}

// TestFilesThatAreNotPlugins: a script without its executable bit, a link to nothing, and a
// directory that cannot be listed may each be a guard. They are logged, unless this host does not
// need them or the plugin is disabled.
func TestFilesThatAreNotPlugins(t *testing.T) {
	const scaffoldGuard, pythonGuard = ".local/scaffold/plugins/guard", ".agent/plugins/guard.py"
	nowhere := func(path string) func(h testHome) {
		return func(h testHome) {
			h.write(path, "", 0o644)
			if err := errors.Join(os.Remove(filepath.Join(h.home, path)), os.Symlink("/no/such/file", filepath.Join(h.home, path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	unexecutable := func(h testHome) { h.write(scaffoldGuard, "#!/bin/sh\n", 0o644) }
	for _, c := range []struct {
		rule  string
		make  func(h testHome)
		point hook.Point
		says  string // in the log; "": nothing
	}{
		{"a scaffold script is not executable", unexecutable, hook.ToolBefore, "this script is not executable, so it is ignored; chmod +x "},
		{"the script is not needed here", unexecutable, hook.CommandBefore, ""},
		{"the script is disabled", func(h testHome) {
			unexecutable(h)
			h.config("[plugins.guard]\nenabled = false\n")
		}, hook.ToolBefore, ""},
		{"a text is not a script", func(h testHome) { h.write(scaffoldGuard, "read me\n", 0o644) }, hook.ToolBefore, ""},
		{"a link to nothing in scaffold's folder", nowhere(scaffoldGuard), hook.ToolBefore, `is a link to /no/such/file, which does not exist" finding=true fix="reinstall the plugin"`},
		{"a link to nothing in python's folder", nowhere(pythonGuard), hook.ToolBefore, "cannot be read: "},
		{"scaffold's folder is a file", func(h testHome) { h.write(".local/scaffold/plugins", "", 0o644) }, hook.ToolBefore, "its plugins cannot be listed: "},
		{"scaffold's folder is a link to nothing", nowhere(".local/scaffold/plugins"), hook.ToolBefore, "leads to nothing; restore what it leads to, or remove the link"},
		{"mine's data is a link to nothing", nowhere(".local/share/mine"), hook.CommandBefore, "/.local/share/mine leads to nothing; "},
		{"mine's folder is a file", func(h testHome) { h.write(".local/share/mine/plugins", "", 0o644) }, hook.CommandBefore, "its plugins cannot be listed: not a directory; move this file away, and make a directory in its place"},
		{"a link to nothing in mine's folder", nowhere(".local/share/mine/plugins/guard"), hook.CommandBefore, `fix="it is a link: remove it, or put the plugin where it leads"`},
		{"python's folder is a file", func(h testHome) { h.write(".agent/plugins", "", 0o644) }, hook.ToolBefore, "its plugins cannot be listed: "},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			c.make(h)
			_, log := h.logged(func(o *pluginhost.Options) {
				o.Needs = func(p pluginhost.Candidate) bool { return slices.Contains(p.Points, c.point) }
			})
			switch told := log.String(); {
			case c.says == "" && told != "":
				t.Errorf("logged\n%s", told)
			case c.says != "" && (!strings.Contains(told, " left out") || !strings.Contains(told, c.says)):
				t.Errorf("want %q in\n%s", c.says, told)
			}
		})
	}
}

// TestAConnectedScriptThatIsNotExecutable: the refusal says what is wrong with the script, and not
// that it is not installed.
func TestAConnectedScriptThatIsNotExecutable(t *testing.T) {
	h := newTestHome(t)
	h.write(".local/scaffold/plugins/guard", "#!/bin/sh\n", 0o644)
	h.config("[plugins.guard]\non_failure = \"deny\"\n[[connect]]\nplugin = \"guard\"\nhook = \"pre_tool_execute\"\npoint = \"command.before\"\n")
	host, _ := h.logged(nil)
	out, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(gitCommand))
	if err != nil || out.Verdict != hook.Deny || len(out.Steps) != 1 || !strings.Contains(fixes.Of(out.Steps[0].Err), "chmod +x ") {
		t.Errorf("%s, %v, steps %+v", out.Verdict, err, out.Steps)
	}
}

// TestAKagedManifestThatIsReadInPart: if the hooks or tools of a manifest cannot be read, the
// plugin may have any, so each host that needs plugins of its dialect logs that it is left out.
func TestAKagedManifestThatIsReadInPart(t *testing.T) {
	const head = "name: pad\nversion: 1.0.0\nkaged_api: 1\ndescription: d\ncommand: [./run]\n"
	for _, c := range []struct {
		rule, manifest string
		left           bool
	}{
		{"no YAML", head + "tools:\n  - name: add\n   description: a\n", true},
		{"hooks of the wrong type", head + "methods: [pad.size]\nhooks: on_session_start\n", true},
		{"tools of the wrong type", head + "methods: [pad.size]\ntools: {name: add}\n", true},
		{"all that it has is known", head + "methods: [pad.size]\nhealth_interval_sec: 1\n", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			h.write(".local/share/kaged/plugins/pad/manifest.yaml", c.manifest, 0o644)
			_, log := h.logged(func(o *pluginhost.Options) {
				o.Needs = func(p pluginhost.Candidate) bool {
					if p.Known == c.left {
						t.Errorf("known is %t", p.Known)
					}
					return slices.Contains(p.Points, hook.SessionStart)
				}
			})
			if told := strings.Contains(log.String(), "plugin left out"); told != c.left {
				t.Errorf("logged\n%s", log)
			}
		})
	}
}

// TestAMisspeltKeyOfAKagedManifest: a key that probably declares hooks or tools is a warning for
// each host that needs plugins of the dialect. Any other misspelt key is only a finding.
func TestAMisspeltKeyOfAKagedManifest(t *testing.T) {
	for key, warned := range map[string]bool{"tool": true, "hook": true, "licence": false} {
		h := newTestHome(t)
		h.write(".local/share/kaged/plugins/pad/manifest.yaml", "name: pad\nversion: 1.0.0\nkaged_api: 1\ndescription: d\ncommand: [./run]\nmethods: [pad.size]\n"+key+": []\n", 0o644)
		_, log := h.logged(func(o *pluginhost.Options) {
			o.Needs = func(p pluginhost.Candidate) bool { return slices.Contains(p.Points, hook.SessionStart) }
		})
		if told := strings.Contains(log.String(), key+": unknown key, ignored"); told != warned {
			t.Errorf("%s: logged\n%s", key, log)
		}
	}
}

// TestOnFailureOfAPluginThatDoesNotStart: if the configuration says that events end when the plugin
// fails, they end too if it does not start, although its hooks are not known then.
func TestOnFailureOfAPluginThatDoesNotStart(t *testing.T) {
	const toolCall = `{"tool":"shell","call_id":"1","arguments":{"cmd":"true"}}`
	scaffold := func(h testHome) { h.write(".local/scaffold/plugins/guard", "#!/bin/sh\nexit 1\n", 0o755) }
	unreadable := func(h testHome) { h.write(guardFile, "[plugin\n", 0o644) }
	script := func(h testHome) { h.write(".local/scaffold/plugins/guard", "#!/bin/sh\nexit 1\n", 0o644) }
	elsewhere := func(h testHome) {
		h.write(".config/dotagent/plugins/dotagent-plugin-guard", "#!/bin/sh\necho '{\"name\":\"guard\",\"kinds\":[\"preflight\"],\"platforms\":[\"plan9\"]}'\n", 0o755)
	}
	for _, c := range []struct {
		rule, setting string
		install       func(h testHome)
		point         hook.Point
		payload       string
		verdict       hook.Verdict // "": the event fails
	}{
		{"scaffold, deny", "deny", scaffold, hook.ToolBefore, toolCall, hook.Deny},
		{"scaffold, abort", "abort", scaffold, hook.TurnInput, `{"message":"hello"}`, ""},
		{"scaffold, skip", "skip", scaffold, hook.ToolBefore, toolCall, hook.Continue},
		{"a point of another dialect", "deny", scaffold, hook.CommandBefore, gitCommand, hook.Continue},
		{"mine, with a manifest that cannot be read", "deny", unreadable, hook.CommandBefore, gitCommand, hook.Deny},
		{"scaffold, not executable", "deny", script, hook.ToolBefore, toolCall, hook.Deny},
		{"scaffold, not executable, skip", "skip", script, hook.ToolBefore, toolCall, hook.Continue},
		{"dotagent, for another system", "deny", elsewhere, hook.JobPreflight, `{"agent":"a","schedule":"s","config":{}}`, hook.Deny},
		{"dotagent, for another system, skip", "skip", elsewhere, hook.JobPreflight, `{"agent":"a","schedule":"s","config":{}}`, hook.Continue},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			c.install(h)
			h.config("[plugins.guard]\non_failure = \"" + c.setting + "\"\n")
			host, _ := h.logged(nil)
			out, err := host.Fire(t.Context(), c.point, json.RawMessage(c.payload))
			switch {
			case c.verdict == "":
				if e, ok := errors.AsType[*hook.Error](err); !ok || e.Kind != hook.Unavailable || e.Plugin != "guard" {
					t.Errorf("%v", err)
				}
			case err != nil || out.Verdict != c.verdict:
				t.Errorf("%+v, %v", out, err)
			case c.verdict == hook.Deny && !strings.Contains(out.Reason, "guard"):
				t.Errorf("the reason is %q", out.Reason)
			}
		})
	}
}

// TestAGuardThatWasRemoved: on_failure of a plugin that is not installed is a warning, unless a
// plugin that was not started may have that name.
func TestAGuardThatWasRemoved(t *testing.T) {
	h := newTestHome(t)
	h.config("[plugins.guard]\non_failure = \"deny\"\n[plugins.other]\npriority = 3\n")
	const want = `[plugins.guard] says on_failure = \"deny\", but events go on: no plugin is called guard`
	if _, log := h.logged(nil); strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), want) {
		t.Errorf("log\n%s", log)
	}
	h.scaffold("words", "guard", 500)
	if _, log := h.logged(nil); strings.Contains(log.String(), "level=WARN") {
		t.Errorf("a plugin calls itself guard: log\n%s", log)
	}
	needs := func(o *pluginhost.Options) {
		o.Needs = func(c pluginhost.Candidate) bool { return c.Dialect == "mine" }
	}
	if _, log := h.logged(needs); strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the plugin was not started: log\n%s", log)
	}
}

// TestAScriptIsNoLostGuard: a script that is not executable refuses events if on_failure says so.
// Then no finding may say that events go on.
func TestAScriptIsNoLostGuard(t *testing.T) {
	h := newTestHome(t)
	h.write(".local/scaffold/plugins/guard", "#!/bin/sh\n", 0o644)
	h.config("[plugins.guard]\non_failure = \"deny\"\n[plugins.other]\non_failure = \"deny\"\n")
	host, _ := h.logged(nil)
	if out, err := host.Fire(t.Context(), hook.ToolBefore, json.RawMessage(`{"tool":"shell","arguments":{}}`)); err != nil || out.Verdict != hook.Deny {
		t.Errorf("%+v, %v", out, err)
	}
	var lost []string
	for _, f := range host.Doctor() {
		if strings.Contains(f.Problem, "but events go on") {
			lost = append(lost, f.Problem)
		}
	}
	if len(lost) != 1 || !strings.Contains(lost[0], "no plugin is called other") {
		t.Errorf("lost guards: %q", lost)
	}
}

// TestADisabledGuardIsNotAsked: disabling a broken plugin ends the refusals that it causes.
func TestADisabledGuardIsNotAsked(t *testing.T) {
	h := newTestHome(t)
	h.write(guardFile, guardHead+guardHooks, 0o644)
	h.config("[plugins.guard]\nenabled = false\n")
	host, log := h.logged(nil)
	if out, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(gitCommand)); err != nil || len(out.Steps) > 0 || log.String() != "" {
		t.Errorf("%v, %+v, log\n%s", err, out, log)
	}
}

// TestConnectedGuards: a connection whose plugin cannot be called refuses events at a gate, and is
// logged elsewhere.
func TestConnectedGuards(t *testing.T) {
	keeper := func(mode os.FileMode) func(h testHome) {
		return func(h testHome) {
			h.write(".config/dotagent/plugins/dotagent-plugin-keeper", "#!/bin/sh\necho '{\"name\":\"keeper\",\"kinds\":[\"preflight\",\"sink\"],\"ok\":true}'\n", mode)
		}
	}
	for _, c := range []struct {
		rule      string
		make      func(h testHome)
		hook      string
		point     hook.Point
		verdict   hook.Verdict
		says      string
		noFinding bool
	}{
		{"a plugin that is not installed, at a gate", func(testHome) {}, "preflight", hook.TurnBegin, hook.Deny, "not installed: keeper", false},
		{"a plugin that is not installed, in a chain", func(testHome) {}, "sink", hook.TurnFinal, hook.Continue, "not installed: keeper", false},
		{"a plugin that is broken, at a gate", keeper(0o644), "preflight", hook.TurnBegin, hook.Deny, "chmod +x", false},
		{"a plugin that is broken, in a chain", keeper(0o644), "sink", hook.TurnFinal, hook.Continue, "chmod +x", false},
		{"a plugin that works", keeper(0o755), "preflight", hook.TurnBegin, hook.Continue, "", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			plugtest.NeedTool(t, "sh")
			h := newTestHome(t)
			c.make(h)
			h.config("[[connect]]\nplugin = \"keeper\"\nhook = \"" + c.hook + "\"\npoint = \"" + string(c.point) + "\"\n")
			host, log := h.logged(nil)
			out, err := host.Fire(t.Context(), c.point, json.RawMessage(`{"text":"t"}`))
			if err != nil || out.Verdict != c.verdict || len(out.Steps) != 1 || !strings.Contains(out.Reason+log.String(), c.says) {
				t.Errorf("%s (%s), %v, log\n%s", out.Verdict, out.Reason, err, log)
			}
			var problems []string
			for _, f := range host.Doctor() {
				if strings.HasPrefix(f.Problem, "[[connect]]") {
					problems = append(problems, string(f.Severity)+f.Where+f.Fix)
				}
			}
			if got := len(problems) == 0; got != c.noFinding || !got && !strings.Contains(problems[0], "config.toml:1:") {
				t.Errorf("findings %q", problems)
			}
		})
	}
}

// TestOnFailureOfAConnectionWithoutAPlugin: on_failure of a plugin that is not installed holds for
// the hook that is connected.
func TestOnFailureOfAConnectionWithoutAPlugin(t *testing.T) {
	for name, table := range map[string]string{"guard": "guard", "mine:guard": "guard", `"mine:guard"`: `"mine:guard"`} {
		h := newTestHome(t)
		h.config("[[connect]]\nplugin = \"" + strings.Trim(name, `"`) + "\"\nhook = \"preexec\"\npoint = \"tool.before\"\n[plugins." + table + "]\non_failure = \"deny\"\n")
		host, log := h.logged(nil)
		out, err := host.Fire(t.Context(), hook.ToolBefore, json.RawMessage(`{"tool":"shell"}`))
		if err != nil || out.Verdict != hook.Deny || !strings.Contains(out.Reason, "not installed") || name == table && strings.Contains(log.String(), "events go on") {
			t.Errorf("%s: %+v, %v, log\n%s", name, out, err, log)
		}
	}
}

// TestABrokenGuardIsConnectedToAHookItLacks: a connection to a broken plugin fails even if the
// plugin's manifest does not have the hook, or the hook cannot be called at the point. It is not
// left out in silence.
func TestABrokenGuardIsConnectedToAHookItLacks(t *testing.T) {
	for name, point := range map[string]hook.Point{"postexec": hook.ToolBefore, "preexc": hook.ToolBefore, "preexec": hook.ToolAfter} {
		t.Run(name, func(t *testing.T) {
			h := newTestHome(t)
			h.write(guardFile, guardHead+guardHooks, 0o644)
			h.config("[[connect]]\nplugin = \"guard\"\nhook = \"" + name + "\"\npoint = \"" + string(point) + "\"\n")
			host, _ := h.logged(nil)
			_, err := host.Fire(t.Context(), point, json.RawMessage(`{"tool":"shell"}`))
			if !errors.Is(err, hook.Unavailable) || !strings.Contains(err.Error(), "reinstall the plugin") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAConnectionPrefersThePluginThatWorks: if two plugins have the name, the plugin that works is
// connected, and Doctor names both. If only the broken plugin can have the hook, the broken plugin
// is connected.
func TestAConnectionPrefersThePluginThatWorks(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	for hookName, works := range map[string]bool{"preexec": true, "preflight": false} {
		t.Run(hookName, func(t *testing.T) {
			h := newTestHome(t)
			h.write(".config/dotagent/plugins/dotagent-plugin-guard", "#!/bin/sh\n", 0o644)
			h.write(guardFile, guardHead+guardHooks, 0o644)
			h.write(guardProg, "#!/bin/sh\ncat >/dev/null\n", 0o755)
			point := map[string]hook.Point{"preexec": hook.ToolBefore, "preflight": hook.TurnBegin}[hookName]
			h.config("[[connect]]\nplugin = \"guard\"\nhook = \"" + hookName + "\"\npoint = \"" + string(point) + "\"\n")
			host, _ := h.logged(nil)
			out, err := host.Fire(t.Context(), point, json.RawMessage(`{"tool":"git"}`))
			if err != nil || len(out.Steps) != 1 || (out.Steps[0].Err == nil) != works || (out.Verdict == hook.Deny) == works {
				t.Errorf("%v, %+v", err, out)
			}
			if i := slices.IndexFunc(host.Doctor(), func(f pluginhost.Finding) bool {
				return strings.Contains(f.Problem, "[[connect]] to guard connects "+h.home) && strings.Contains(f.Problem, "cannot be asked: "+h.home) && strings.HasSuffix(f.Problem, "dotagent-plugin-guard (broken)")
			}); i < 0 {
				t.Errorf("findings %+v", host.Doctor())
			}
		})
	}
}

// TestAnOnBeginThatIsCalledFirst: before the first hook of a request, the host calls on_begin. If
// on_begin fails and the plugin has on_failure = deny, the event is refused. With on_failure =
// skip, the trace notes the failure.
func TestAnOnBeginThatIsCalledFirst(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	for setting, want := range map[string]hook.Verdict{"deny": hook.Deny, "skip": hook.Continue} {
		t.Run(setting, func(t *testing.T) {
			h := newTestHome(t)
			h.write(".agent/plugins/guard.py", "@on_begin\nasync def b(ctx): raise RuntimeError('no rules')\n@on_final\nasync def f(ctx, text): return text + '!'\n", 0o644)
			h.config("[plugins.guard]\non_failure = \"" + setting + "\"\n")
			out, err := h.open().Fire(hook.WithRequest(t.Context(), "r"), hook.TurnFinal, json.RawMessage(`{"text":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			told := out.Reason + strings.Join(out.Steps[0].Notes, " ")
			if out.Verdict != want || !strings.Contains(told, "no rules") {
				t.Errorf("%s, told %q", out.Verdict, told)
			}
		})
	}
}

// TestATurnEndsForPythonPluginsWithoutOnDone: what a plugin left in ctx.state does not reach the
// next request.
func TestATurnEndsForPythonPluginsWithoutOnDone(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/count.py", "@on_final\nasync def f(ctx, text):\n    ctx.state['n'] = ctx.state.get('n', 0) + 1\n    return str(ctx.state['n'])\n", 0o644)
	host := h.open()
	for _, step := range []struct {
		point         hook.Point
		payload, want string
	}{
		{hook.TurnFinal, `{"text":"x"}`, `{"text":"1"}`},
		{hook.TurnFinal, `{"text":"x"}`, `{"text":"2"}`},
		{hook.TurnDone, `{}`, `{}`},
		{hook.TurnFinal, `{"text":"x"}`, `{"text":"1"}`},
	} {
		out, err := host.Fire(t.Context(), step.point, json.RawMessage(step.payload))
		if err != nil || string(out.Payload) != step.want {
			t.Errorf("%s: %s, %v; want %s", step.point, out.Payload, err, step.want)
		}
	}
}

// TestFailuresThatEndNothingAreLogged: Fire returns no error for them, so the log must have them.
func TestFailuresThatEndNothingAreLogged(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	h := newTestHome(t)
	h.write(guardFile, guardHead+"[[hooks]]\ncommand = \"*\"\nstage = \"notify\"\nmode = \"notify\"\n", 0o644)
	h.write(guardProg, "#!/bin/sh\ncat >/dev/null\necho 'the webhook is down' >&2\nexit 7\n", 0o755)
	host, log := h.logged(nil)
	if _, err := host.Fire(t.Context(), hook.CommandDone, json.RawMessage(gitCommand)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a hook failed and was skipped", "plugin=guard", "the webhook is down", "hook=notify", "point=command.done"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	t.Run("a request that is too large to be sent, and a crash, are logged with their fix", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".local/scaffold/plugins/guard", `#!/bin/sh
while IFS= read -r line; do
  case $line in
  *'"method":"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"name":"guard","hooks":["pre_tool_execute"]}}' ;;
  *) exit 7 ;;
  esac
done
`, 0o755)
		host, log := h.logged(nil)
		large := `{"tool":"shell","arguments":{"cmd":"` + strings.Repeat("x", 10<<20) + `"}}`
		for _, c := range []struct{ data, failure, fix string }{
			{large, "too large to send", `set on_failure = \"deny\" in [plugins.guard] of the configuration`},
			{`{"tool":"shell"}`, "exit code 7", "`patchbay plugin logs guard` shows all that it wrote to stderr"},
		} {
			if _, err := host.Fire(t.Context(), hook.ToolBefore, json.RawMessage(c.data)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), c.failure) || !strings.Contains(log.String(), c.fix) {
				t.Errorf("the log does not say %q and %q:\n%s", c.failure, c.fix, log)
			}
		}
	})
	t.Run("so is a timeout that the dialect has logged", func(t *testing.T) {
		plugtest.NeedTool(t, "python3")
		h := newTestHome(t)
		h.write(".agent/plugins/slow.py", "import asyncio\n@on_final\nasync def f(ctx, text): await asyncio.sleep(60)\n", 0o644)
		h.config("[plugins.slow]\ntimeout = \"100ms\"\n")
		host, log := h.logged(nil)
		if _, err := host.Fire(t.Context(), hook.TurnFinal, json.RawMessage(`{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
		if want := "fix=\"`patchbay plugin logs slow` shows what it wrote, "; !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	})
	t.Run("a timeout is logged with its fix", func(t *testing.T) {
		h := newTestHome(t)
		h.write(guardFile, guardHead+"[[hooks]]\ncommand = \"*\"\nstage = \"preexec\"\nmode = \"transform\"\ntimeout = \"100ms\"\n", 0o644)
		h.write(guardProg, "#!/bin/sh\nread -r call\ncase $call in *lifecycle*) exit ;; esac\nexec sleep 600\n", 0o755)
		h.config("[plugins.guard]\non_failure = \"skip\"\n")
		host, log := h.logged(nil)
		if _, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(gitCommand)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"timed out after 100ms", "fix=\"`patchbay plugin logs guard` shows what it wrote, and `patchbay plugin test guard` tries it alone; if it only needs longer, set timeout in [plugins.guard] of the configuration\""} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
		}
	})
}
