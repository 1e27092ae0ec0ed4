package hookinstall

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// driver calls the plugin's hooks as OpenCode does. For each call it prints the arguments as
// the hook has changed them, or the hook's error. Then it prints two results and a reply as their
// hooks have changed them.
const driver = `
import { Patchbay } from "./patchbay.mjs"
const hooks = await Patchbay({ directory: process.argv[2] })
const show = (v) => console.log(JSON.stringify(v))
for (const command of process.argv.slice(3)) {
  const args = { command, description: "mine" }
  const output = { args }
  try {
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, output)
    show({ args, same: output.args === args, ofAllObjects: {}.off })
  } catch (e) {
    show({ thrown: e.message })
  }
}
for (const [hook, output] of [
  ["tool.execute.after", { title: "t", output: "secret", metadata: { output: "secret", n: 1 } }],
  ["tool.execute.after", { content: [{ type: "text", text: "secret" }, { type: "text", text: "more" }] }],
  ["experimental.text.complete", { text: "secret" }],
]) {
  await hooks[hook]({ tool: "bash", sessionID: "s", callID: "c" }, output)
  show(output)
}
await hooks.dispose()
`

// fakePatchbay is a program that runs instead of Patchbay. It records the lines that it reads. What
// it answers depends on the command in the line.
const fakePatchbay = `#!/usr/bin/env node
import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"
for await (const line of createInterface({ input: process.stdin })) {
  appendFileSync(new URL("./seen", import.meta.url), line + "\n")
  const { id, event, output } = JSON.parse(line)
  const command = output?.args?.command
  if (command === "die") process.exit(3)
  if (command === "no") console.log(JSON.stringify({ id, deny: "not here" }))
  else if (command === "change") console.log("not an answer\n" + JSON.stringify({ id, output: { args: { command: "changed" } } }))
  else if (command === "proto") console.log('{"id":' + id + ',"output":{"args":{"command":"c","__proto__":{"off":true}}}}')
  else console.log(JSON.stringify({ id }))
}
`

// drive installs the plugin for a program and calls its hooks.
func drive(t *testing.T, p Program, dir string, commands ...string) (lines []string) {
	t.Helper()
	plugtest.NeedTool(t, "node")
	place := place(t, codehook.OpenCode, false)
	change, err := Install(place, p, true)
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	writeProgram(t, filepath.Join(at, "patchbay.mjs"), change.New)
	writeProgram(t, filepath.Join(at, "driver.mjs"), driver)
	cmd := exec.Command("node", append([]string{filepath.Join(at, "driver.mjs"), dir}, commands...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestOpenCodePlugin(t *testing.T) {
	dir := t.TempDir()
	program := Program{Path: filepath.Join(dir, "patchbay-hook.mjs"), Closed: filepath.Join(dir, "none.json")}
	writeProgram(t, program.Path, fakePatchbay)
	got := drive(t, program, "/a/project", "ls", "no", "change", "ls", "proto")
	for i, want := range []string{
		`{"args":{"command":"ls","description":"mine"},"same":true}`, `{"thrown":"not here"}`,
		`{"args":{"command":"changed"},"same":true}`, `{"args":{"command":"ls","description":"mine"},"same":true}`,
		`{"args":{"command":"c","__proto__":{"off":true}},"same":true}`, // and no other object has the property off
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("%d: got %q, wanted %s", i, got, want)
		}
	}
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil || !strings.Contains(string(seen), `"input":{"tool":"bash","sessionID":"s","callID":"c","directory":"/a/project"}`) {
		t.Errorf("the program read %s, %v", seen, err)
	}
}

// TestOpenCodeWithoutPatchbay: without Patchbay a tool runs if no plugin has to agree. Otherwise
// it is refused, and the error says how to go on.
func TestOpenCodeWithoutPatchbay(t *testing.T) {
	dir := t.TempDir()
	closed, broken := filepath.Join(dir, "closed.json"), filepath.Join(dir, "broken.json")
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(project, "a", "b")
	for _, made := range []string{below, filepath.Join(project, ".git")} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeProgram(t, closed, `{"version":1,"points":{"tool.before":["guard"]},"projects":{"/open":{},"`+project+`":{"tool.before":["linter"]}}}`)
	writeProgram(t, broken, `{`)
	died := filepath.Join(dir, "patchbay-hook.mjs")
	writeProgram(t, died, fakePatchbay)
	gone, none, config, older := filepath.Join(dir, "gone"), filepath.Join(dir, "none.json"), filepath.Join(dir, "config.toml"), filepath.Join(dir, "older.json")
	writeProgram(t, config, "[plugins.guard]\non_failure = \"deny\"\n")
	writeProgram(t, older, `{"version":0,"points":{}}`)
	for _, tc := range []struct{ rule, program, closed, project, want string }{
		{"no point is closed", gone, none, "/p", `"same":true`},
		{"the file of closed points has another version", gone, older, "/p", "cannot read which plugins have to agree (" + older},
		{"a point is closed", gone, closed, "/p", "could not ask guard"},
		{"not in this project", gone, closed, "/open", `"same":true`},
		{"below the root of a project", gone, closed, below, "could not ask linter"},
		{"the file of closed points is broken", gone, broken, "/p", "could not ask any plugin, and cannot read which plugins have to agree (" + broken},
		{"the program dies", died, closed, "/p", "PATCHBAY_HOOK=off"},
	} {
		got := drive(t, Program{Path: tc.program, Closed: tc.closed, Config: none}, tc.project, "die")
		if !strings.Contains(got[0], tc.want) {
			t.Errorf("%s: got %s", tc.rule, got)
		}
	}
	got := drive(t, Program{Path: gone, Closed: none, Config: config}, "/p", "die")
	for i, line := range got {
		if !strings.Contains(line, "some of which may have to agree") || strings.Contains(line, "secret") || strings.Contains(line, "thrown") != (i == 0) {
			t.Errorf("no list, and the configuration may require a plugin: got %s", line)
		}
	}
	if len(got) != 4 || !strings.Contains(got[1], `"n":1`) || !strings.Contains(got[2], `{"content":[{"type":"text","text":"Patchbay could not ask`) {
		t.Errorf("a result or a reply is replaced by the reason: got %s", got)
	}
}
