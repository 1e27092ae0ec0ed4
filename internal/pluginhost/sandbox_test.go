package pluginhost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// enforceable reports whether this machine can confine a plugin.
var enforceable = sync.OnceValue(func() error {
	g := proc.NewGroup(nil)
	s := sandbox.Probe(context.Background(), g)
	return errors.Join(s.Namespaces, g.Close())
})

// confinable returns a home with a note that is granted, a secret that is not, and a writable
// place. Its plugins are shell scripts that use no other program.
func confinable(t *testing.T) testHome {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is a sandbox on Linux only")
	}
	plugtest.NeedTool(t, "sh")
	if err := enforceable(); err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	h := newTestHome(t)
	h.write("granted/note", "note\n", 0o644)
	h.write("secret/note", "secret\n", 0o644)
	h.write("out/empty", "", 0o644)
	return h
}

// grants returns the line of the configuration that grants the note and the writable place.
func (h testHome) grants(more ...string) string {
	list := append([]string{"read:fs:" + h.home + "/granted", "write:fs:" + h.home + "/out"}, more...)
	text, err := json.Marshal(list) // a JSON list of strings is also a TOML list
	if err != nil {
		h.t.Fatal(err)
	}
	return "capabilities = " + string(text) + "\n"
}

// look is a shell function that records, under a name, what a plugin sees: the note, the secret,
// and whether it could write beside the secret.
func (h testHome) look() string {
	return fmt.Sprintf(`see() { text=; read -r text 2>/dev/null <$1; echo "${text:--}"; }
look() { wrote=-; { echo x >%[1]s/secret/$1; } 2>/dev/null && wrote=wrote; echo "$(see %[1]s/granted/note) $(see %[1]s/secret/note) $wrote" >%[1]s/out/$1; }
`, h.home)
}

// seen returns what a plugin recorded.
func (h testHome) seen(name string) string {
	h.t.Helper()
	for range 3000 {
		text, err := os.ReadFile(filepath.Join(h.home, "out", name))
		if err != nil {
			return err.Error()
		}
		if seen := strings.TrimSpace(string(text)); seen != "" {
			return seen
		}
		time.Sleep(10 * time.Millisecond) // the plugin, called again, has emptied the file and not written it yet
	}
	return ""
}

const (
	confined = "note - -"
	free     = "note secret wrote"
)

// lookers installs a plugin of each dialect that has hooks. The plugin runs look when it is called.
func (h testHome) lookers() {
	const rpc = `while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
`
	const answer = `  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`
	h.write(".local/scaffold/plugins/scaf", "#!/bin/sh\n"+h.look()+rpc+`  *'"method":"initialize"'*) r='{"name":"scaf","hooks":["post_user_input"],"tools":[]}' ;;
  *post_user_input*) look scaffold; r='{}' ;;
  *) r='{}' ;;
`+answer, 0o755)
	h.write(".local/share/kaged/plugins/keeper/manifest.yaml", `name: keeper
version: 1.0.0
kaged_api: 1
description: looks
command: ["./run"]
hooks: [on_session_start]
capabilities: ["read:fs:`+h.home+`/granted", "write:fs:`+h.home+`/out"]
`, 0o644)
	h.write(".local/share/kaged/plugins/keeper/run", "#!/bin/sh\n"+h.look()+rpc+`  *'"initialized"'*) continue ;;
  *'"initialize"'*) r='{"name":"keeper","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}' ;;
  *on_session_start*) look kaged; r='{}' ;;
  *) r='{}' ;;
`+answer, 0o755)
	h.write(".config/dotagent/plugins/dotagent-plugin-dot", "#!/bin/sh\n"+h.look()+`case $1 in
info) echo '{"name":"dot","kinds":["preflight"]}' ;;
*) read -r input; look dotagent; echo '{"ok":true}' ;;
esac
`, 0o755)
	h.mine("network = false\n")
	h.write(".agent/plugins/snake.py", fmt.Sprintf(`
import os

def see(path):
    try:
        with open(path) as f: return f.read().strip()
    except OSError: return "-"

@on_begin
def begin(ctx):
    wrote = "-"
    try:
        open(%[1]q + "/secret/python", "w").close()
        wrote = "wrote"
    except OSError: pass
    with open(%[1]q + "/out/python", "w") as f:
        f.write(see(%[1]q + "/granted/note") + " " + see(%[1]q + "/secret/note") + " " + wrote)
`, h.home), 0o644)
}

// mine installs a mine plugin with these permissions that runs look when it is called.
func (h testHome) mine(permissions string) {
	h.miner(permissions, "#!/bin/sh\n"+h.look(), "look mine")
}

// miner installs a mine plugin with these permissions. Its program begins with begin, and runs do
// when it is called.
func (h testHome) miner(permissions, begin, do string) {
	h.write(".local/share/mine/plugins/miner/mine-plugin.toml", `[plugin]
name = "miner"
version = "1.0.0"
description = "looks"
author = "test"
protocol_version = "1.0.0"
[permissions]
`+permissions+`[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
`, 0o644)
	const program = ".local/share/mine/plugins/miner/mine-plugin-miner"
	_ = os.Remove(filepath.Join(h.home, program)) // a program that is being started cannot be written, only replaced
	h.write(program, begin+`
IFS= read -r input
`+do+`
context=${input#*'"context":'}
printf '{"status":"ok","context":%s\n' "$context"
`, 0o755)
}

// wiring connects the plugins whose dialects take no part in a turn.
const wiring = `[[connect]]
plugin = "dot"
hook = "preflight"
point = "turn.begin"
`

// fireAll calls every looker.
func fireAll(t *testing.T, host *pluginhost.Host) {
	t.Helper()
	for _, p := range host.Plugins() {
		if p.State != dialect.Ready {
			t.Fatalf("%s is %s: %s", p.Name, p.State, *p.Error)
		}
	}
	for point, payload := range map[hook.Point]string{
		hook.TurnBegin: `{"session_id":"s","working_dir":"/","user_text":"hi"}`, hook.TurnInput: `{"message":"hi"}`,
		hook.SessionStart: `{"session_id":"s"}`, hook.CommandBefore: `{"command":"todo.add","args":[],"flags":{}}`,
	} {
		out, err := host.Fire(hook.WithRequest(t.Context(), "turn"), point, json.RawMessage(payload))
		if err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		for _, s := range out.Steps {
			if s.Err != nil {
				t.Errorf("%s: %s: %v", point, s.Plugin, s.Err)
			}
		}
	}
}

var everyDialect = map[string]string{"scaffold": "scaf", "kaged": "keeper", "dotagent": "dot", "mine": "miner", "python": "snake"}

func TestTheConfigurationConfinesEveryDialect(t *testing.T) {
	for _, c := range []struct{ rule, more string }{{"started for each call, or long-lived", ""}, {"started ahead", "standby = 1\n"}} {
		t.Run(c.rule, func(t *testing.T) {
			plugtest.NeedTool(t, "python3")
			h := confinable(t)
			h.lookers()
			text := wiring
			for _, name := range everyDialect {
				text += "[plugins." + name + "]\n" + c.more + h.grants()
			}
			h.config(text)
			fireAll(t, h.open())
			for name := range everyDialect {
				if got := h.seen(name); got != confined {
					t.Errorf("%s saw %q, want %q", name, got, confined)
				}
			}
		})
	}
}

// TestSandboxesBuiltAhead: from the third call on, plugins that are started for each call find a
// sandbox that was built ahead, with the same rules.
func TestSandboxesBuiltAhead(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := confinable(t)
	h.lookers()
	h.config(wiring + "[plugins.dot]\n" + h.grants() + "[plugins.miner]\n" + h.grants())
	host := h.open()
	for round := range 5 {
		for _, name := range []string{"dotagent", "mine"} {
			_ = os.Remove(filepath.Join(h.home, "out", name))
		}
		fireAll(t, host)
		for _, name := range []string{"dotagent", "mine"} {
			if got := h.seen(name); got != confined {
				t.Errorf("round %d: %s saw %q", round, name, got)
			}
		}
		for end := time.Now().Add(time.Minute); round > 0 && host.Spares() < 2; time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("round %d: %d sandboxes are ready", round, host.Spares())
			}
		}
	}
}

func TestDialectsThatASandboxSettingConfines(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	for _, c := range []struct {
		sandbox string
		held    string // the dialects whose plugins are confined
	}{
		{"", "kaged"},
		{`sandbox = "kaged"`, "kaged"},
		{`sandbox = "declared"`, "kaged mine"},
		{`sandbox = "off"`, ""},
	} {
		t.Run(c.sandbox, func(t *testing.T) {
			h := confinable(t)
			h.lookers()
			h.mine("network = false\nfilesystem = [\"~/out\", \"" + h.home + "/granted\"]\n")
			h.config(c.sandbox + "\n" + wiring)
			fireAll(t, h.open())
			for name := range everyDialect {
				want := free
				if strings.Contains(c.held, name) {
					want = confined
				}
				if got := h.seen(name); got != want {
					t.Errorf("%s saw %q, want %q", name, got, want)
				}
			}
		})
	}
	t.Run("sandbox = off wins over capabilities", func(t *testing.T) {
		h := confinable(t)
		h.lookers()
		h.config("sandbox = \"off\"\n" + wiring + "[plugins.scaf]\ncapabilities = []\n")
		fireAll(t, h.open())
		if got := h.seen("scaffold"); got != free {
			t.Errorf("saw %q", got)
		}
	})
}

// TestTheNetworkOfMine: the permission network of a mine manifest is enforced.
func TestTheNetworkOfMine(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	port := listen(t)
	for permission, want := range map[string]string{"network = true\n": "connected", "network = false\n": "refused", "": "refused"} {
		t.Run(permission, func(t *testing.T) {
			h := confinable(t)
			h.miner(permission+"filesystem = [\"~/out\"]\n", "#!/usr/bin/env bash\n",
				"if (exec 3<>/dev/tcp/127.0.0.1/"+port+") 2>/dev/null; then echo connected; else echo refused; fi >"+h.home+"/out/mine")
			h.config("sandbox = \"declared\"\n")
			fireAll(t, h.open())
			if got := h.seen("mine"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// listen returns a port of this machine that answers.
func listen(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestAConfinedPythonPluginHasAnInterpreterOfItsOwn(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := confinable(t)
	for _, name := range []string{"one", "two", "three"} {
		h.write(".agent/plugins/"+name+".py", "@on_begin\ndef begin(ctx): pass\n", 0o644)
	}
	h.config("[plugins.three]\ncapabilities = []\n")
	host := h.open()
	pids := make(map[string]int)
	for _, p := range host.Plugins() {
		if p.Pid == nil {
			t.Fatalf("%+v", p)
		}
		pids[p.Name] = *p.Pid
	}
	if pids["one"] != pids["two"] || pids["one"] == pids["three"] {
		t.Errorf("%v", pids)
	}
}

// TestADeniedConnection: a denied connection is in the log and in the trace, with the capability
// that would allow it.
func TestADeniedConnection(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	port := listen(t)
	h := confinable(t)
	h.write(".agent/plugins/caller.py", `
import socket

@on_begin
def begin(ctx):
    socket.create_connection(("127.0.0.1", `+port+`), 10).close()
    for host in ("203.0.113.7", "denied.example"):
        try: socket.create_connection((host, 443), 10).recv(1)
        except OSError: pass
`, 0o644)
	h.config("[plugins.caller]\ncapabilities = [\"net:127.0.0.1:" + port + "\"]\n")
	var log plugtest.Log
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	host := h.openWith(o)
	fire := func() string {
		out, err := host.Fire(t.Context(), hook.TurnBegin, json.RawMessage(`{}`))
		if err != nil || len(out.Steps) != 1 || out.Steps[0].Err != nil {
			t.Fatalf("%+v, %v", out, err)
		}
		return strings.Join(out.Steps[0].Notes, "\n")
	}
	notes := ""
	for _, grant := range []string{"net:203.0.113.7:443", "net:denied.example:"} {
		waitUntil(t, grant+" is in the trace and in the log", func() bool { // a denial may be in the notes of a later call
			notes += fire()
			return strings.Contains(notes, grant) && strings.Contains(log.String(), grant)
		})
	}
	if strings.Contains(notes, "net:127.0.0.1:") {
		t.Errorf("a granted connection was denied: %s", notes)
	}
}

// TestNoGrantOpensPatchbaysOwnPlaces: a plugin that could write to Patchbay's own places could free
// itself from its sandbox at the next start.
func TestNoGrantOpensPatchbaysOwnPlaces(t *testing.T) {
	for place, grant := range map[string]string{
		"the configuration":   "write:fs:HOME/.config/patchbay",
		"the agents":          "write:fs:HOME/.config/dotagent/agents/new",
		"plugins of a kind":   "write:fs:HOME/.agent/plugins",
		"another plugin":      "write:fs:HOME/.local/share/kaged/plugins/other",
		"the stored state":    "read:fs:HOME/.local/share/patchbay",
		"the daemon's socket": "read:fs:HOME/.local/state/patchbay",
		"the secrets":         "read:fs:HOME/.config/patchbay/secrets.toml",
	} {
		t.Run(place, func(t *testing.T) {
			h := confinable(t)
			h.lookers()
			h.config("[plugins.scaf]\n" + h.grants(strings.ReplaceAll(grant, "HOME", h.home)))
			p, err := h.open().Plugin("scaf")
			if err != nil {
				t.Fatal(err)
			}
			if p.State != dialect.Broken || !strings.Contains(*p.Error, "which is Patchbay's own") {
				t.Errorf("%s, %v", p.State, p.Error)
			}
		})
	}
	t.Run("the program itself, and the program that builds its sandboxes", func(t *testing.T) {
		h := confinable(t)
		h.lookers()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		h.config("[plugins.scaf]\n" + h.grants("write:fs:"+filepath.Dir(self)))
		p, err := h.open().Plugin("scaf")
		if err != nil || p.State != dialect.Broken || !strings.Contains(*p.Error, "it may change ") { // any of the reasons may be found first
			t.Errorf("%+v, %v", p, err)
		}
	})
	for name, c := range map[string]struct{ config, file string }{
		"credentials of the engine": {"[engine]\nurl = \"nats://127.0.0.1:1\"\ncredentials = \"../keys/engine.creds\"\n", "HOME/.config/keys/engine.creds"},
		"the engine's key":          {"[engine]\nurl = \"tls://127.0.0.1:1\"\ncert = \"a.pem\"\nkey = \"../keys/a.key\"\n", "HOME/.config/keys/a.key"},
		"a password in the address": {"[engine]\nurl = \"nats://ann:word@127.0.0.1:1\"\n", "HOME/.config/patchbay/config.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			h := confinable(t)
			h.lookers()
			file := strings.ReplaceAll(c.file, "HOME", h.home)
			h.write(".config/keys/engine.creds", "word\n", 0o600)
			h.write(".config/keys/a.key", "word\n", 0o600)
			h.config(c.config + "[plugins.scaf]\n" + h.grants("read:fs:"+file))
			p, err := h.open().Plugin("scaf")
			if err != nil || p.State != dialect.Broken || !strings.Contains(*p.Error, "which is Patchbay's own") {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	t.Run("copies beside the secrets", func(t *testing.T) {
		h := confinable(t)
		h.write(".local/scaffold/plugins/reader", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"method":"initialize"'*) r='{"name":"reader","hooks":["post_user_input"],"tools":[]}' ;;
  *) cat `+h.home+`/.config/patchbay/* `+h.home+`/.config/patchbay/.[!.]* >`+h.home+`/out/read 2>/dev/null; r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
		for _, name := range []string{"secrets.toml~", ".secrets.toml.swp", "secrets.toml.bak", "config.toml.4711.tmp", "#config.toml#"} {
			h.write(".config/patchbay/"+name, "hidden-word\n", 0o600)
		}
		h.write(".config/patchbay/notes", "shown\n", 0o600)
		h.config("[server]\ntoken = \"hidden-word-of-sixteen\"\n[plugins.reader]\n" + h.grants("read:fs:"+h.home+"/.config", "exec:cat:/usr/bin/cat"))
		if _, err := h.open().Fire(t.Context(), hook.TurnInput, map[string]string{"message": "hi"}); err != nil {
			t.Fatal(err)
		}
		if text := h.seen("read"); strings.Contains(text, "hidden-word") || !strings.Contains(text, "shown") {
			t.Errorf("the plugin read %q", text)
		}
	})
	t.Run("the home directory of mine is not Patchbay's own", func(t *testing.T) {
		h := confinable(t)
		h.mine("filesystem = [\"~/notes\", \"~bob/notes\", \"~/.config/patchbay\"]\n")
		h.config("sandbox = \"declared\"\n")
		p, err := h.open().Plugin("miner")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(p.Capabilities)
		if !strings.Contains(string(text), h.home+"/notes") || strings.Contains(string(text), "bob") {
			t.Errorf("%s", text)
		}
	})
}

// TestDoctorNamesWhatAFailedStartLacked: Doctor suggests the capabilities that a plugin lacked in
// its sandbox.
func TestDoctorNamesWhatAFailedStartLacked(t *testing.T) {
	plugtest.NeedTool(t, "jq")
	plugtest.NeedTool(t, "python3")
	for rule, c := range map[string]struct{ script, want string }{
		"a program":                 {"#!/bin/sh\njq -n 1 || exit 1\n", "exec:jq:/"},
		"a program from Python":     {"#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['jq', '-n', '1'])\n", "exec:jq:/"},
		"a program in Node's words": {"#!/bin/sh\necho 'Error: spawn jq ENOENT' >&2\n", "exec:jq:/"},
		"a program in Go's words":   {"#!/bin/sh\necho 'exec: \"jq\": executable file not found in $PATH' >&2\n", "exec:jq:/"},
		"a file":                    {"#!/bin/sh\nexec 3<$H/secret/note\n", "read:fs:HOME/secret/note"},
		"a file from Python":        {"#!/usr/bin/env python3\nopen('$H/secret/note')\n", "read:fs:HOME/secret/note"},
	} {
		t.Run(rule, func(t *testing.T) {
			h := confinable(t)
			h.write(".local/scaffold/plugins/scaf", strings.ReplaceAll(c.script, "$H", h.home), 0o755)
			h.config("[plugins.scaf]\ncapabilities = []\n")
			var fixes []string
			for _, f := range h.open().Doctor() {
				fixes = append(fixes, f.Fix)
			}
			if want := strings.ReplaceAll(c.want, "HOME", h.home); !strings.Contains(strings.Join(fixes, "\n"), want) {
				t.Errorf("no %s in %q", want, fixes)
			}
		})
	}
}

// TestGrantsOfWhatIsNotThere: doctor warns of granted files and programs that do not exist.
func TestGrantsOfWhatIsNotThere(t *testing.T) {
	h := confinable(t)
	h.write(".local/scaffold/plugins/scaf", "#!/bin/sh\nread -r line\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"name\":\"scaf\"}}'\ncat\n", 0o755)
	h.write("there", "", 0o644)
	h.config(fmt.Sprintf("[plugins.scaf]\ncapabilities = [\"read:fs:%[1]s/there\", \"read:fs:%[1]s/nowhere\", \"exec:sh:/bin/sh\", \"exec:jk:/usr/bin/jk\"]\n", h.home))
	var found []string
	for _, f := range h.open().Doctor() {
		if f.Severity == pluginhost.SeverityWarning {
			found = append(found, f.Problem)
		}
	}
	want := []string{"read:fs:" + h.home + "/nowhere: there is no such file or directory", "exec:jk:/usr/bin/jk: there is no such program"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q", found)
	}
}

// TestAFolderOfTheProtocolNeedNotExist: a mine plugin may read mine's configuration. On a machine
// without mine there is no warning.
func TestAFolderOfTheProtocolNeedNotExist(t *testing.T) {
	h := confinable(t)
	h.miner("config_read = true\n", "#!/bin/sh\n", "true")
	h.config("sandbox = \"declared\"\n")
	for _, f := range h.open().Doctor() {
		if f.Severity == pluginhost.SeverityWarning {
			t.Errorf("%s", f.Problem)
		}
	}
}

// TestAHookThatItsSandboxStops: the fix names the program that the sandbox does not show, whether
// the failure ends the event or is only logged, and so does the error of the step.
func TestAHookThatItsSandboxStops(t *testing.T) {
	const want = "add to its capabilities: exec:cat:/"
	for rule, settings := range map[string]string{"it ends the event": "", "it is skipped": "on_failure = \"skip\"\n"} {
		t.Run(rule, func(t *testing.T) {
			h := confinable(t)
			h.miner("", "#!/bin/sh\n", "cat || exit 1")
			h.config("[plugins.miner]\ncapabilities = []\n" + settings)
			host, log := h.logged(nil)
			out, err := host.Fire(t.Context(), hook.CommandBefore, json.RawMessage(`{"command":"git","args":[],"flags":{}}`))
			if ends := settings == ""; ends != (err != nil) || ends == strings.Contains(log.String(), want) {
				t.Errorf("%v\n%s", err, log)
			}
			for _, failed := range []error{err, out.Steps[0].Err} {
				if fixer, ok := errors.AsType[interface {
					error
					Fix() string
				}](failed); failed != nil && (!ok || !strings.HasSuffix(fixer.Fix(), "/cat")) {
					t.Errorf("%v has no fix", failed)
				}
			}
		})
	}
}

// TestAToolThatItsSandboxStops: the fix names the file or program that the sandbox does not show.
// If the message names a file that does not exist, there is no fix.
func TestAToolThatItsSandboxStops(t *testing.T) {
	plugtest.NeedTool(t, "jq")
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Fatal(err)
	}
	h := confinable(t)
	h.write(".local/scaffold/plugins/scaf", "#!/bin/sh\nwhile read -r line; do case $line in\n"+
		`*'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"name":"scaf","tools":[{"name":"t","description":"d"}]}}' ;;`+"\n"+
		`*) exit ;; esac; done`+"\n", 0o755)
	h.config("[plugins.scaf]\ncapabilities = []\n")
	host := h.open()
	for message, want := range map[string]string{
		"[Errno 2] No such file or directory: '" + h.home + "/secret/note'":                                                    "read:fs:" + h.home + "/secret/note",
		`Executable not found in $PATH: "jq"`:                                                                                  "exec:jq:/",
		"[Errno 2] No such file or directory: '" + jq + "'":                                                                    "exec:jq:" + jq,
		"[Errno 2] No such file or directory: '/nowhere/at/all'":                                                               "",
		"cannot create " + h.home + "/store/new: mkdir: cannot create directory ‘" + h.home + "/store’: Read-only file system": "let it write; if it may have them, add to its capabilities: write:fs:" + h.home + "/store/new",
		"EROFS: read-only file system, open '" + h.home + "/secret/note'":                                                      "capabilities: write:fs:" + h.home + "/secret/note",
		"no opinion": "",
	} {
		if fix := host.ToolFix("plugin_scaf_t", message); !strings.Contains(fix, want) || want == "" && fix != "" {
			t.Errorf("%s: the fix is %q, want %q", message, fix, want)
		}
	}
	if fix := host.ToolFix("plugin_other", "x"); fix != "" {
		t.Errorf("an unknown tool: %q", fix)
	}
}
