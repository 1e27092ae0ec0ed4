//go:build unix

package pluginhost_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// opened returns a host with its log.
func (h testHome) opened() (*pluginhost.Host, *plugtest.Log) {
	var log plugtest.Log
	o := h.options()
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	return h.openWith(o), &log
}

func trustOf(t *testing.T, h *pluginhost.Host, name string) *pluginhost.PluginDetail {
	t.Helper()
	p, err := h.Plugin(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func accept(t *testing.T, h *pluginhost.Host, name string) *pluginhost.TrustChange {
	t.Helper()
	c, err := h.Trust(name, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTrustRecord: a new plugin is recorded. A changed one runs, with a warning until it is
// trusted.
func TestTrustRecord(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	host, log := home.opened()
	if p := trustOf(t, host, "one"); p.Trust != trust.New || strings.Contains(log.String(), "WARN") {
		t.Errorf("%q, log %s", p.Trust, log)
	}
	home.scaffold("one", "one", 600)
	host, log = home.opened()
	p := trustOf(t, host, "one")
	if p.Trust != trust.Changed || len(p.Lock.Changes) != 1 || message(t, host) != "hi one" {
		t.Errorf("%+v", p.Lock)
	}
	if !strings.Contains(log.String(), "patchbay plugin trust one") {
		t.Errorf("no warning that names the fix: %s", log)
	}
	warned := false
	for _, f := range host.Doctor() {
		warned = warned || f.Severity == pluginhost.SeverityWarning && strings.Contains(f.Fix, "patchbay plugin trust one")
	}
	if !warned {
		t.Errorf("doctor says nothing: %+v", host.Doctor())
	}
	if c := accept(t, host, "one"); c.State != trust.Changed || c.Files[0].Path != "one" {
		t.Errorf("%+v", c)
	}
	host, log = home.opened()
	if p := trustOf(t, host, "one"); p.Trust != trust.Trusted || strings.Contains(log.String(), "WARN") {
		t.Errorf("%q, log %s", p.Trust, log)
	}
}

// TestTrustLocked: a plugin that is not in the lock is not started, neither at first, nor after a
// restart, nor after a reload.
func TestTrustLocked(t *testing.T) {
	home := newTestHome(t)
	home.config("trust = \"locked\"\n")
	home.scaffold("one", "one", 500)
	home.miner("", "#!/bin/sh", "")
	host, _ := home.opened()
	if got := states(host); got != "miner:broken one:broken" {
		t.Fatal(got)
	}
	if got := message(t, host); got != "hi" {
		t.Errorf("got %q", got)
	}
	command := map[string]any{"command": "ls", "args": []string{}, "flags": map[string]string{}}
	if out, err := host.Fire(t.Context(), hook.CommandBefore, command); err == nil || out.Verdict != hook.Deny {
		t.Errorf("a command was not refused although its hook may not run: %+v, %v", out, err)
	}
	accept(t, host, "one")
	accept(t, host, "miner")
	reload(t, host)
	if got := message(t, host); got != "hi one" {
		t.Errorf("got %q", got)
	}
	if _, err := host.Fire(t.Context(), hook.CommandBefore, command); err != nil {
		t.Error(err)
	}
	home.miner("", "#!/bin/sh", "touch "+home.home+"/ran")
	if _, err := host.Fire(t.Context(), hook.CommandBefore, command); err == nil || !strings.Contains(err.Error(), "have changed since they were recorded") {
		t.Errorf("a changed program was started: %v", err)
	}
	if _, err := os.Stat(home.home + "/ran"); err == nil {
		t.Error("a changed program ran")
	}
	if host, _ := home.opened(); !strings.Contains(states(host), "miner:broken") {
		t.Error(states(host))
	}
}

// TestTrustOfCode: with "locked", changed python code is not loaded, the old code goes on, and
// saving through the host is refused.
func TestTrustOfCode(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := newTestHome(t)
	code := func(word string) string {
		return "from plugins import on_final\n\n@on_final\nasync def final(ctx, text):\n    return text + ' " + word + "'\n"
	}
	home.write(".agent/plugins/end.py", code("old"), 0o644)
	final := func(host *pluginhost.Host) string {
		host.Refresh(t.Context())
		if _, err := host.Fire(t.Context(), hook.TurnBegin, nil); err != nil {
			t.Error(err)
		}
		out, err := host.Fire(t.Context(), hook.TurnFinal, map[string]string{"text": "the"})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := out.Payload, err
		return string(text)
	}
	home.opened() // records it
	home.config("trust = \"locked\"\n")
	host, log := home.opened()
	if got := final(host); !strings.Contains(got, "the old") {
		t.Fatalf("%s\n%s", got, log)
	}
	home.write(".agent/plugins/end.py", code("new!"), 0o644)
	if got := final(host); !strings.Contains(got, "the old") {
		t.Errorf("changed code was loaded: %s", got)
	}
	if !strings.Contains(log.String(), "have changed since they were recorded") {
		t.Errorf("the change was not logged: %s", log)
	}
	accept(t, host, "end")
	if got := final(host); !strings.Contains(got, "the new!") {
		t.Errorf("trusted code was not loaded: %s\n%s", got, log)
	}
	if _, err := pythonfile.Of(host).Save(t.Context(), "end", code("saved")); err == nil {
		t.Error("code was saved")
	}
}

// notesPlugin writes a kaged plugin that may read /etc. The returned function writes its manifest
// with more capabilities.
func (h testHome) notesPlugin() (manifest func(more string)) {
	manifest = func(more string) {
		h.write(".local/share/kaged/plugins/notes/manifest.yaml", `name: notes
version: 1.0.0
kaged_api: 1
description: d
command: [./notes.sh]
methods: [notes.get]
capabilities: ["read:fs:/etc"`+more+`]
`, 0o644)
	}
	manifest("")
	h.write(".local/share/kaged/plugins/notes/notes.sh", `#!/bin/sh
while IFS= read -r line; do
  id=${line#*'"id":'} id=${id%%[,\}]*}
  printf '{"jsonrpc":"2.0","id":%s,"result":{"name":"notes","version":"1.0.0","api_version":1,"methods":["notes.get"],"notifications":[],"capabilities_used":[]}}\n' "$id"
done
`, 0o755)
	return manifest
}

// TestNewCapabilitiesWithoutASandbox: without a sandbox only the storage is withheld, and the
// finding says so.
func TestNewCapabilitiesWithoutASandbox(t *testing.T) {
	home := newTestHome(t)
	manifest := home.notesPlugin()
	home.write(".config/patchbay/config.toml", "sandbox = \"off\"\n", 0o600)
	home.opened()
	manifest(`, "read:fs:/var", "net:[]", "kaged:storage:write"`)
	host, _ := home.opened()
	var problems []string
	for _, f := range host.TrustFindings("notes") {
		problems = append(problems, f.Problem)
	}
	got := strings.Join(problems, "\n")
	for _, want := range []string{"it wants kaged:storage:write, which was not granted", "it declares read:fs:/var, which it did not declare when it was recorded: no sandbox keeps it"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "net:[]") {
		t.Errorf("net:[] asks for nothing:\n%s", got)
	}
}

// TestCapabilitiesAreKept: a plugin whose manifest changes keeps the capabilities it was granted,
// and gets no more until it is trusted.
func TestCapabilitiesAreKept(t *testing.T) {
	home := newTestHome(t)
	manifest := home.notesPlugin()
	capabilities := func(host *pluginhost.Host) string {
		var list []string
		for _, c := range trustOf(t, host, "notes").Capabilities {
			if strings.HasPrefix(c.Capability, "read:") {
				list = append(list, c.Capability)
			}
		}
		return strings.Join(list, " ")
	}
	host, _ := home.opened()
	if got := capabilities(host); got != "read:fs:/etc" {
		t.Fatal(got)
	}
	manifest(`, "read:fs:/var", "net:[]"`)
	host, log := home.opened()
	if got := capabilities(host); got != "read:fs:/etc" {
		t.Errorf("%s was granted", got)
	}
	if p := trustOf(t, host, "notes"); len(p.Lock.Withheld) != 1 || !strings.Contains(log.String(), "it wants read:fs:/var, which") {
		t.Errorf("%+v\n%s", p.Lock, log)
	}
	if c := accept(t, host, "notes"); len(c.Granted) != 2 || c.Granted[0] != "read:fs:/var" {
		t.Errorf("%+v", c)
	}
	reload(t, host)
	if got := capabilities(host); got != "read:fs:/etc read:fs:/var" {
		t.Errorf("%s was granted", got)
	}
}

// TestTrustOfOwnDirectories: a program with its own directories has no lock, unless its
// configuration asks for one.
func TestTrustOfOwnDirectories(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	o := home.options()
	o.Dirs = []string{filepath.Join(home.home, ".local/scaffold/plugins")}
	host := home.openWith(o)
	if p := trustOf(t, host, "one"); p.Trust != "" || message(t, host) != "hi one" {
		t.Errorf("%+v", p)
	}
	if locks, err := filepath.Glob(home.home + "/.config/patchbay/*"); err != nil || len(locks) > 0 {
		t.Errorf("%q, %v", locks, err)
	}
	home.write("app/app.toml", "trust = \"locked\"\n", 0o644)
	o.ConfigFile = filepath.Join(home.home, "app", "app.toml")
	host = home.openWith(o)
	if got := states(host); got != "one:broken" {
		t.Error(got)
	}
	accept(t, host, "one")
	if _, err := os.Stat(home.home + "/app/patchbay.lock"); err != nil {
		t.Error(err)
	}
}

// TestDamagedLockStopsTheHost: a damaged lock is an error of the configuration.
func TestDamagedLockStopsTheHost(t *testing.T) {
	home := newTestHome(t)
	home.write(".config/patchbay/patchbay.lock", "version = 1\n[[plug", 0o600)
	if _, err := pluginhost.Open(t.Context(), home.options()); err == nil || !strings.Contains(err.Error(), "patchbay.lock:2:") {
		t.Errorf("%v", err)
	}
}

// TestWrappedPlugin: a plugin whose files are elsewhere is started there, in its sandbox too, and
// those files are the trusted ones.
func TestWrappedPlugin(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	const files = ".local/share/patchbay/plugins/scaffold/one/"
	text, err := os.ReadFile(home.home + "/.local/scaffold/plugins/one")
	if err != nil {
		t.Fatal(err)
	}
	home.write(files+"run it's", strings.Replace(string(text), "#!/bin/sh", "#!/usr/bin/env bash", 1), 0o755)
	home.write(".local/scaffold/plugins/one", string(pluginhost.Wrapper(filepath.Join(home.home, files, "run it's"))), 0o755)
	home.config("[plugins.one]\ncapabilities = [\"exec:sed:/usr/bin/sed\"]\n")
	host, log := home.opened()
	if got := message(t, host); got != "hi one" && trustOf(t, host, "one").State == "ready" {
		t.Errorf("%q\n%s", got, log)
	}
	if p := trustOf(t, host, "one"); p.State != "ready" && !strings.Contains(*p.Error, "enforce") {
		t.Errorf("%s", *p.Error)
	}
	home.write(files+"run it's", "#!/bin/sh\nexit 1\n", 0o755)
	if host, _ := home.opened(); trustOf(t, host, "one").Trust != trust.Changed {
		t.Error("a change of its files is not seen")
	}
}

// TestTrustOfCompiledCode: with "locked", Python does not run compiled code that another program
// put into its cache.
func TestTrustOfCompiledCode(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := newTestHome(t)
	home.config("trust = \"locked\"\n")
	const dir = ".local/scaffold/plugins/"
	home.write(dir+"one", `#!/usr/bin/env python3
import json, os, sys
sys.path.insert(0, os.path.expanduser("~/lib"))
import word
for line in sys.stdin:
    r = json.loads(line)
    result = {"name": "one", "hooks": ["post_user_input"], "tools": []} if r["method"] == "initialize" else {"message": word.word}
    print(json.dumps({"jsonrpc": "2.0", "id": r.get("id"), "result": result}), flush=True)
`, 0o755)
	home.write("lib/word.py", "word = 'good'\n", 0o644)
	home.write("evil.py", "word = 'evil'\n", 0o644)
	poison := `import importlib.util, py_compile
py_compile.compile("evil.py", cfile=importlib.util.cache_from_source("lib/word.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`
	cmd := exec.Command("python3", "-c", poison)
	cmd.Dir = home.home
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	host, _ := home.opened()
	accept(t, host, "one")
	reload(t, host)
	if got := message(t, host); got != "good" {
		t.Errorf("got %q", got)
	}
}
