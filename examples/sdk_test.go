package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/filestore"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// An sdkPlugin is an example that was written with an SDK: one program for every dialect.
type sdkPlugin struct {
	name  string
	files map[string]string // paths by file name; the program has the plugin's name
}

// buildVeil compiles the example in Go, which is a separate module.
func buildVeil(t *testing.T) sdkPlugin {
	t.Helper()
	program := filepath.Join(t.TempDir(), "veil")
	command := exec.Command("go", "build", "-o", program, ".")
	command.Dir, command.Env = "sdk-go", append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return sdkPlugin{"veil", map[string]string{"veil": program}}
}

// careful returns the example in Python: a file, and the SDK beside it.
func careful(t *testing.T) sdkPlugin {
	t.Helper()
	plugtest.NeedTool(t, "python3")
	return sdkPlugin{"careful", map[string]string{"careful": "sdk-python/careful", "patchbay_plugin.py": "../sdk/python/patchbay_plugin.py"}}
}

// install installs a plugin for a dialect, as its README says, and opens a host with it. The
// program is the same for all dialects, and prints its own manifest.
func (p sdkPlugin) install(t *testing.T, dialect, config string) (*pluginhost.Host, string) {
	t.Helper()
	home := t.TempDir()
	folder := map[string]string{"scaffold": ".local/scaffold/plugins", "dotagent": ".config/dotagent/plugins",
		"kaged": ".local/share/kaged/plugins/" + p.name, "mine": ".local/share/mine/plugins/" + p.name, "mcp": "servers"}[dialect]
	folder = filepath.Join(home, folder)
	write(t, filepath.Join(home, ".config/patchbay/config.toml"), config)
	program := filepath.Join(folder, p.name)
	for name, source := range p.files {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if name == p.name {
			mode = 0o755
		}
		if name == p.name && dialect == "dotagent" {
			name = "dotagent-plugin-" + name
		}
		write(t, filepath.Join(folder, name), string(text))
		if err := os.Chmod(filepath.Join(folder, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	switch dialect {
	case "kaged":
		write(t, filepath.Join(folder, "manifest.yaml"), manifest(t, program, dialect))
	case "mine":
		write(t, filepath.Join(folder, "mine-plugin.toml"), manifest(t, program, dialect))
	case "mcp":
		write(t, filepath.Join(home, ".config/patchbay/config.toml"), config+manifest(t, program, dialect))
	}
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Dir: home, Storage: storage(filepath.Join(home, "storage")),
		Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Needs: func(c pluginhost.Candidate) bool { return c.Name == p.name }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	if all := host.Plugins(); len(all) != 1 || all[0].Error != nil || all[0].Dialect != dialect {
		text, _ := json.Marshal(all)
		t.Fatalf("plugins: %s", text)
	}
	return host, home
}

func storage(dir string) func(string, dialect.StorageQuota) dialect.Storage {
	store := filestore.New(dir)
	return func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return store.Plugin(plugin, patchbay.StorageQuota(quota))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// manifest returns the manifest that a plugin prints.
func manifest(t *testing.T, program, dialect string) string {
	t.Helper()
	out, err := exec.Command(program, "manifest", dialect).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// result calls a tool that must not fail.
func result(t *testing.T, host *pluginhost.Host, tool string, args any) string {
	t.Helper()
	r, err := host.CallTool(t.Context(), tool, args)
	if err != nil || !r.Success {
		t.Fatalf("%s: %v, %+v", tool, err, r)
	}
	return r.Result
}

// TestOneGoPluginInEveryDialect: the same program is a sink, a transform hook, a tool, a hook of an
// agent and an MCP server.
func TestOneGoPluginInEveryDialect(t *testing.T) {
	p := buildVeil(t)
	t.Run("dotagent", func(t *testing.T) {
		host, home := p.install(t, "dotagent", "")
		file := filepath.Join(home, "kept.txt")
		fire(t.Context(), t, host, hook.JobSink, map[string]any{"agent": "a", "schedule": "s", "message": "password=abc\n", "config": map[string]any{"file": file}})
		if text, err := os.ReadFile(file); err != nil || string(text) != "a/s: password=[hidden]\n" {
			t.Errorf("got %q, %v", text, err)
		}
		if err := host.CheckConfig(t.Context(), "veil", json.RawMessage(`{"fil":"x"}`)); err == nil || !strings.Contains(err.Error(), "fil") {
			t.Errorf("a config with a misspelt key: %v", err)
		}
	})
	t.Run("mine", func(t *testing.T) {
		host, _ := p.install(t, "mine", "")
		after := fire(t.Context(), t, host, hook.CommandAfter, map[string]any{"command": "env", "args": []string{},
			"result": map[string]any{"stdout": "TOKEN=abc\n", "stderr": "", "exit_code": 0}})
		if got := fmt.Sprint(after["result"]); !strings.Contains(got, "TOKEN=[hidden]") {
			t.Errorf("got %s", got)
		}
		var out, said bytes.Buffer
		code, err := host.RunCommand(t.Context(), "veil", pluginhost.Command{Name: "scan", In: strings.NewReader("fine\ntoken: abc\n"), Out: &out, ErrOut: &said,
			Failed: func(message string) { said.WriteString(message) }})
		if err != nil || code != 1 || out.String() != "stdin:2\n" || !strings.Contains(said.String(), "lines with secrets: 1") {
			t.Errorf("got %d, %v, %q, %q", code, err, out.String(), said.String())
		}
	})
	t.Run("kaged", func(t *testing.T) {
		host, _ := p.install(t, "kaged", "[plugins.veil]\nconfig = { mask = \"***\" }\n")
		if got := result(t, host, "veil.redact", map[string]any{"text": "token: abc"}); got != `{"text":"token: ***","secrets":1}` {
			t.Errorf("got %s", got)
		}
		total, err := host.CallMethod(t.Context(), "veil", "veil.total", map[string]any{})
		if err != nil || string(total) != `{"total":1}` {
			t.Errorf("got %s, %v", total, err)
		}
	})
	t.Run("scaffold", func(t *testing.T) {
		host, _ := p.install(t, "scaffold", "")
		if got := fire(t.Context(), t, host, hook.ToolAfter, toolResult("token: abc"))["result"]; got != "token: [hidden]" {
			t.Errorf("got %s", got)
		}
		if got := result(t, host, "plugin_veil_redact", map[string]any{"text": "fine"}); got != `{"text":"fine","secrets":0}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("mcp", func(t *testing.T) {
		host, _ := p.install(t, "mcp", "")
		if got := result(t, host, "veil_redact", map[string]any{"text": "fine"}); got != `{"text":"fine","secrets":0}` {
			t.Errorf("got %s", got)
		}
	})
}

// TestOnePythonPluginInEveryDialect is the same for the SDK in Python.
func TestOnePythonPluginInEveryDialect(t *testing.T) {
	p := careful(t)
	t.Run("dotagent", func(t *testing.T) {
		host, home := p.install(t, "dotagent", "")
		file := filepath.Join(home, "report.txt")
		fire(t.Context(), t, host, hook.JobSink, map[string]any{"agent": "a", "schedule": "s", "message": "ls\nrm -rf /\n", "config": map[string]any{"report": file}})
		if text, err := os.ReadFile(file); err != nil || string(text) != "a/s: rm -rf /\n" {
			t.Errorf("got %q, %v", text, err)
		}
		if err := host.CheckConfig(t.Context(), "careful", json.RawMessage(`{"also":["("]}`)); err == nil || !strings.Contains(err.Error(), "not a regular expression") {
			t.Errorf("a config with a bad pattern: %v", err)
		}
	})
	t.Run("mine", func(t *testing.T) {
		host, _ := p.install(t, "mine", "")
		after := fire(t.Context(), t, host, hook.CommandBefore, map[string]any{"command": "git", "args": []string{"push", "-f"}})
		if got := fmt.Sprint(after["args"]); got != "[push --force-with-lease]" {
			t.Errorf("got %s", got)
		}
		_, err := host.Fire(t.Context(), hook.CommandBefore, map[string]any{"command": "rm", "args": []string{"-rf", "/"}})
		if err == nil || !strings.Contains(err.Error(), "this removes everything; name the directory (DENIED)") {
			t.Errorf("got %v", err)
		}
		var out, said bytes.Buffer
		code, err := host.RunCommand(t.Context(), "careful", pluginhost.Command{Name: "review", In: strings.NewReader("ls\nmkfs /dev/sda\n"), Out: &out, ErrOut: &said,
			Failed: func(message string) { said.WriteString(message) }})
		if err != nil || code != 1 || out.String() != "2: changes disks; do it by hand\n" || said.String() != "dangerous lines: 1 (DANGER)" {
			t.Errorf("got %d, %v, %q, %q", code, err, out.String(), said.String())
		}
	})
	t.Run("kaged", func(t *testing.T) {
		host, _ := p.install(t, "kaged", "")
		if got := result(t, host, "careful.judge", map[string]any{"cmd": "ls"}); got != `{"refused":false}` {
			t.Errorf("got %s", got)
		}
		if got := fmt.Sprint(fire(t.Context(), t, host, hook.SessionStart, map[string]any{"session_id": "s"})["inject"]); !strings.HasPrefix(got, "A command is refused if it removes everything, or ") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("scaffold", func(t *testing.T) {
		host, _ := p.install(t, "scaffold", "")
		after := fire(t.Context(), t, host, hook.ToolBefore, map[string]any{"tool": "shell", "arguments": map[string]any{"cmd": "rm -rf /"}})
		if got := fmt.Sprint(after["result"]); !strings.Contains(got, "removes everything") || after["success"] != false {
			t.Errorf("got %v", after)
		}
	})
	t.Run("mcp", func(t *testing.T) {
		host, _ := p.install(t, "mcp", "")
		if got := result(t, host, "careful_judge", map[string]any{"cmd": "ls"}); got != `{"refused":false}` {
			t.Errorf("got %s", got)
		}
	})
}

// inPythonDialect is a plugin that is written with the SDK, as a file of the python dialect.
const inPythonDialect = `import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from patchbay_plugin import Deny, Modify, Plugin

p = Plugin("guarded", "1.0.0", "Guards.")

@p.on("tool.before")
def before(e):
    if e.argument("cmd") == "rm":
        return Deny("no", suggest="mv")
    e.arguments["timeout"] = 30
    return Modify()

@p.on("turn.final")
def final(e):
    e.text += "!"
    return Modify()

p.export(globals())
if __name__ == "__main__":
    p.main()
`

// TestTheSDKInThePythonDialect: a plugin works in that dialect as the README of the SDK in Python
// says.
func TestTheSDKInThePythonDialect(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := t.TempDir()
	sdk, err := os.ReadFile("../sdk/python/patchbay_plugin.py")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".agent/plugins/guarded.py"), inPythonDialect)
	write(t, filepath.Join(home, ".agent/plugins/lib/patchbay_plugin.py"), string(sdk))
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Dir: home, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
		Dialects: []string{"python"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := hook.WithRequest(t.Context(), "one turn")
	call := func(cmd string) map[string]any {
		return map[string]any{"tool": "shell", "call_id": cmd, "arguments": map[string]any{"cmd": cmd}}
	}
	if got := fmt.Sprint(fire(ctx, t, host, hook.ToolBefore, call("ls"))["arguments"]); got != "map[cmd:ls timeout:30]" {
		t.Errorf("modify: got %s", got)
	}
	fire(ctx, t, host, hook.ToolBefore, call("rm"))
	if got := fire(ctx, t, host, hook.ToolResolve, call("rm")); got["success"] != false || !strings.Contains(fmt.Sprint(got["result"]), "mv") {
		t.Errorf("deny: got %v", got)
	}
	if got := fire(ctx, t, host, hook.TurnFinal, map[string]any{"text": "hi"})["text"]; got != "hi!" {
		t.Errorf("final: got %v", got)
	}
}

// TestPythonSDK runs the tests of the SDK in Python, the examples of its README, and the tests of
// the plugin that is written with it.
func TestPythonSDK(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("../sdk/python")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		args []string
	}{{sdk, []string{"-m", "unittest", "test_sdk"}}, {sdk, []string{"-m", "doctest", "README.md"}}, {"sdk-python", []string{"-m", "unittest", "test_careful"}}} {
		command := exec.Command(python, c.args...)
		command.Dir, command.Env = c.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONPATH=" + sdk, "PYTHONDONTWRITEBYTECODE=1"}
		if out, err := command.CombinedOutput(); err != nil || strings.Contains(string(out), "Ran 0 tests") {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
}
