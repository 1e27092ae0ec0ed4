package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// example returns the code that the protocol document prints under a heading; nth counts from 0.
func example(t *testing.T, heading string, nth int) string {
	t.Helper()
	for _, b := range plugtest.Seed(t, "004").Blocks("python") {
		if b.Heading != heading {
			continue
		}
		if nth == 0 {
			return b.Text
		}
		nth--
	}
	t.Fatalf("the document prints no such code under %q", heading)
	return ""
}

// TestSeedExamplePlugins: every example plugin of the document works as printed:
// docs/protocols/python.md, row P46.
func TestSeedExamplePlugins(t *testing.T) {
	s := newRig(t)
	s.write("footer", example(t, "Response Footer Plugin", 0))
	s.write("logger", example(t, "Logger Plugin", 0))
	s.write("mocker", example(t, "Tool Mocker Plugin", 0))
	s.write("shell_blocker", example(t, "Shell Blocker Plugin", 0))
	s.open(dialect.Settings{})
	s.fire("r", hook.TurnBegin, `{"session_id":"ses_123","working_dir":"/path/to/project","user_text":"Hello"}`)

	t.Run("the shell blocker rewrites what it blocks", func(t *testing.T) {
		out := s.fire("r", hook.ToolBefore, `{"tool":"shell","call_id":"1","arguments":{"cmd":"sudo rm -rf /"}}`)
		if want := `{"tool":"shell","call_id":"1","arguments":{"cmd":"echo 'Blocked by security policy'"}}`; string(out.Payload) != want {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("the shell blocker leaves other commands alone", func(t *testing.T) {
		out := s.fire("r", hook.ToolBefore, `{"tool":"read_file","call_id":"2","arguments":{"path":"a"}}`)
		if want := `{"tool":"read_file","call_id":"2","arguments":{"path":"a"}}`; string(out.Payload) != want {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("the footer lists the tools", func(t *testing.T) {
		if got, want := s.final("r", "Answer"), "Answer\n\n---\nSession: ses_123\nTools: shell, read_file"; got != want {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the logger counts the tools", func(t *testing.T) {
		s.fire("r", hook.TurnDone, `{}`)
		for _, line := range []string{"Request started: ses_123", "Tool #1: shell", "Tool #2: read_file", "Request completed: 2 tools called"} {
			s.logged("level=INFO", "plugin=logger", `line="`+line+`"`)
		}
	})
	t.Run("the tool mocker is a syntax error as printed, with its place", func(t *testing.T) {
		fault, ok := errors.AsType[*LoadError](s.errs["mocker"])
		if !ok || len(s.errs) != 1 {
			t.Fatalf("errors %v", s.errs)
		}
		p := fault.Problem
		line := strings.Split(example(t, "Tool Mocker Plugin", 0), "\n")[p.Line-1]
		if !strings.HasPrefix(p.Message, "SyntaxError: ") || !strings.Contains(line, `"mocked shell output"`) || p.Column < 2 || p.Column > len(line) {
			t.Errorf("problem %+v in %q", p, line)
		}
	})
}

// TestSeedQuickStart: the document's shell command writes a plugin that works.
func TestSeedQuickStart(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	s := newRig(t)
	for _, b := range plugtest.Seed(t, "004").Blocks("bash") {
		if strings.Contains(b.Text, "logger.py") {
			cmd := exec.Command("bash", "-e", "-c", b.Text)
			cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	s.open(dialect.Settings{})
	if len(s.plugins) != 1 {
		t.Fatalf("%d plugins, %v", len(s.plugins), s.errs)
	}
	if info := s.plugins[0].Info(); info.Name != "logger" || info.Description != "Logs all tool calls." {
		t.Errorf("info %+v", info)
	}
	s.fire("r", hook.TurnBegin, `{"session_id":"ses_123"}`)
	s.fire("r", hook.ToolBefore, `{"tool":"shell","arguments":{}}`)
	s.fire("r", hook.TurnDone, `{}`)
	for _, line := range []string{"[logger] Request started: ses_123", "[logger] Tool: shell", "[logger] Request completed"} {
		s.logged("level=INFO", "plugin=logger", `line="`+line+`"`)
	}
}

// TestSeedHooksReference: the document's snippet of each hook works. Snippets that measure time
// lack an import, which the test adds.
func TestSeedHooksReference(t *testing.T) {
	s := newRig(t)
	s.write("a_begin", "import time\n"+example(t, "on_begin", 0))
	s.write("b_log", example(t, "on_tool_call", 0))
	s.write("c_modify", example(t, "on_tool_call", 1))
	s.write("d_resolve", example(t, "on_resolve_tool", 0))
	s.write("e_result", example(t, "on_tool_result", 0))
	s.write("f_final", example(t, "on_final", 0))
	s.write("g_done", "import time\n"+example(t, "on_done", 0))
	s.open(dialect.Settings{})
	if len(s.errs) > 0 {
		t.Fatal(s.errs)
	}
	s.fire("r", hook.TurnBegin, `{}`)
	t.Run("on_tool_call", func(t *testing.T) {
		out := s.fire("r", hook.ToolBefore, `{"tool":"shell","call_id":"1","arguments":{"cmd":"ls"}}`)
		if want := `{"tool":"shell","call_id":"1","arguments":{"cmd":"ls","timeout":30}}`; string(out.Payload) != want {
			t.Errorf("payload %s", out.Payload)
		}
		s.logged("plugin=b_log", `line="Calling shell with {'cmd': 'ls'}"`)
		out = s.fire("r", hook.ToolBefore, `{"tool":"fetch","call_id":"2","arguments":{}}`)
		if string(out.Payload) != `{"tool":"fetch","call_id":"2","arguments":{}}` {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("on_resolve_tool", func(t *testing.T) {
		out := s.fire("r", hook.ToolResolve, `{"tool":"shell","call_id":"1","arguments":{"cmd":"rm -rf /"}}`)
		if out.Verdict != hook.Stop || out.By != "d_resolve" ||
			!strings.HasSuffix(string(out.Payload), `"result":"Command blocked by security plugin","success":false}`) {
			t.Errorf("%s by %s: %s", out.Verdict, out.By, out.Payload)
		}
		if out := s.fire("r", hook.ToolResolve, `{"tool":"shell","call_id":"1","arguments":{"cmd":"ls"}}`); out.Verdict != hook.Continue {
			t.Errorf("%s: %s", out.Verdict, out.Payload)
		}
	})
	t.Run("on_tool_result", func(t *testing.T) {
		out := s.fire("r", hook.ToolAfter, `{"tool":"shell","call_id":"1","arguments":{},"result":"`+strings.Repeat("x", 1001)+`","success":true}`)
		if got := field(t, out, "result"); got != strings.Repeat("x", 1000)+"\n... (truncated)" {
			t.Errorf("result %q", got)
		}
		if !strings.HasSuffix(string(out.Payload), `,"success":true}`) {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("on_final", func(t *testing.T) {
		if got := s.final("r", "Answer"); got != "Answer\n\n---\nPowered by MyPlugin" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("on_done", func(t *testing.T) {
		s.fire("r", hook.TurnDone, `{}`)
		s.logged("plugin=g_done", "Request took 0.") // since the time that another plugin stored
	})
}

func TestSeedBasicStructure(t *testing.T) {
	s := newRig(t)
	s.write("file", example(t, "Basic Structure", 0))
	s.open(dialect.Settings{})
	if info := s.plugins[0].Info(); info.Name != "my_plugin" || info.Description != "Description of what this plugin does." || len(info.Hooks) != 6 {
		t.Errorf("info %+v", info)
	}
	payload := `{"session_id":"s","tool":"t","call_id":"1","arguments":{},"result":"r","success":true,"text":"x"}`
	for _, h := range s.plugins[0].Hooks() {
		if out := s.fire("r", h.Point, payload); string(out.Payload) != payload || step(t, out).Err != nil {
			t.Errorf("%s: %s, %v", h.Name, out.Payload, step(t, out).Err)
		}
	}
}

// TestSeedHooks: the hooks are those of the document's table, in its order, and each has its point.
func TestSeedHooks(t *testing.T) {
	rows := plugtest.Seed(t, "004").Rows("Decorators Available")
	if len(rows) != len(native) {
		t.Fatalf("%d hooks in the document", len(rows))
	}
	for i, row := range rows {
		if row.Name != "@"+native[i].hook || New().Points()[i] != native[i].point {
			t.Errorf("hook %d is %s, the document has %s", i, native[i].hook, row.Name)
		}
	}
}

// TestSeedAnswers: plugins are described as in the answers that the document prints for its API.
func TestSeedAnswers(t *testing.T) {
	s := newRig(t)
	s.write("logger", example(t, "Logger Plugin", 0))
	s.open(dialect.Settings{})
	for _, b := range plugtest.Seed(t, "004").Blocks("json") {
		var answer struct {
			Name     string
			Content  string
			Hooks    []string
			Metadata json.RawMessage
			Detail   string
			Plugins  []struct {
				Name     string
				Hooks    []string
				Metadata json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(b.Text), &answer); err != nil {
			t.Fatalf("line %d: %v", b.Line, err)
		}
		switch {
		case len(answer.Plugins) == 1: // GET /plugin/list
			p := answer.Plugins[0]
			sameAs(t, s.plugins[0], p.Name, p.Hooks, p.Metadata)
		case answer.Name == "logger": // GET /plugin/{name}, POST /plugin/{name}/reload
			sameAs(t, s.plugins[0], answer.Name, answer.Hooks, answer.Metadata)
		case answer.Name == "test_plugin" && answer.Content != "": // POST /plugin/validate
			v, err := s.dialect.Validate(t.Context(), s.runtime("test_plugin"), Draft{Name: answer.Name, Content: answer.Content})
			if err != nil || strings.Join(v.Hooks, " ") != "on_begin" || string(v.Metadata) != `{"api":"1.0","name":"test_plugin"}` {
				t.Errorf("line %d: %+v, %v", b.Line, v, err)
			}
		case answer.Detail != "": // and its error
			_, err := s.dialect.Validate(t.Context(), s.runtime("bad"), Draft{Name: "bad", Content: "async def f(:"})
			prefix := strings.TrimSuffix(answer.Detail, "...")
			if fault, ok := errors.AsType[*LoadError](err); !ok || !strings.HasPrefix("Invalid plugin code: "+fault.Problem.Message, prefix) {
				t.Errorf("line %d: %v", b.Line, err)
			}
		}
	}
}

func sameAs(t *testing.T, p dialect.Plugin, name string, hooks []string, metadata json.RawMessage) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, metadata); err != nil {
		t.Fatal(err)
	}
	info := p.Info()
	if info.Name != name || strings.Join(info.Hooks, " ") != strings.Join(hooks, " ") || string(p.(Plugin).Metadata()) != compact.String() {
		t.Errorf("plugin %+v with metadata %s, the document has %s, %v, %s", info, p.(Plugin).Metadata(), name, hooks, metadata)
	}
}

// runPython runs a program with the runner's package in its path, as a user's program would.
func runPython(t *testing.T, home, program string, args ...string) string {
	t.Helper()
	plugtest.NeedTool(t, "python3")
	here, err := filepath.Abs("runner")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", append([]string{"-B", "-c", program}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + here, "PYENV_VERSION=" + os.Getenv("PYENV_VERSION")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestSeedPythonAPI: the document's program that uses the package works as printed:
// docs/protocols/python.md, row P47.
func TestSeedPythonAPI(t *testing.T) {
	s := newRig(t)
	s.write("logger", example(t, "Logger Plugin", 0))
	s.write("footer", example(t, "Response Footer Plugin", 0))
	// The document's program needs a tool, a plugin to save, and a loop for its awaits.
	program := `
import ast, asyncio, sys
async def execute_tool(call): return ToolResult(call.tool_call_id, call.tool_name, f"ran {call.input}")
scope = {"plugin_source_code": "@on_begin\nasync def f(ctx): pass\n", "execute_tool": execute_tool}
code = compile(sys.argv[1], "api.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
from plugins.models import ToolResult
from plugins import plugin_registry, list_plugins
asyncio.run(eval(code, scope))
print(scope["available"], scope["plugin"].name, [p.name for p in scope["plugins"]])
print(scope["call"].input, scope["resolved"], scope["result"].output)
print(scope["final_text"])
print([p.stem for p in list_plugins()])
`
	got := runPython(t, s.home, program, example(t, "Python API", 0))
	want := "['footer', 'logger'] logger ['logger', 'footer']\n" +
		"{'cmd': 'ls'} None ran {'cmd': 'ls'}\n" +
		"Response text\n\n---\nSession: ses_123\nTools: shell\n" +
		"['footer', 'logger']\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// TestSeedModels: fields, types and defaults of the models are those of the document.
func TestSeedModels(t *testing.T) {
	program := `
import sys, typing, dataclasses
from plugins import models
scope = {"dataclass": dataclasses.dataclass, "Any": typing.Any}
text = sys.argv[1].replace("@dataclass", "@dataclass(kw_only=True)")
exec("from __future__ import annotations\n" + text, scope)
for name in ("PluginContext", "ToolCall", "ToolResult"):
    printed, ours = scope[name], getattr(models, name)
    kind = lambda c: [(f.name, f.type.partition("[")[0]) for f in dataclasses.fields(c)]
    assert kind(printed) == kind(ours), (kind(printed), kind(ours))
assert models.ToolResult("1", "t", "o") == models.ToolResult("1", "t", "o", True, None)
assert models.PluginContext("s", "w", "u") == models.PluginContext("s", "w", "u", {}, [])
print("same")
`
	if got := runPython(t, t.TempDir(), program, example(t, "Models Available", 0)); got != "same\n" {
		t.Errorf("got %s", got)
	}
}

// TestRunnerPackage runs the tests of the package, which are in Python.
func TestRunnerPackage(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "python3")
	cmd := exec.Command("python3", "-B", "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	cmd.Dir = "runner"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
