package mine

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// compact returns a JSON object of the document without spaces, as it is sent.
func compact(t *testing.T, b plugtest.Block) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(b.Text)); err != nil {
		t.Fatalf("line %d: %v", b.Line, err)
	}
	return out.String()
}

// TestSeedObjects: the host sends and reads every JSON object that the document prints, byte for
// byte.
func TestSeedObjects(t *testing.T) {
	objects := plugtest.Seed(t, "001").Objects()
	if len(objects) != 5 {
		t.Fatalf("%d objects", len(objects))
	}
	hookText, replyText, commandText, errorText, lifecycleText := objects[0], objects[1], objects[2], objects[3], objects[4]

	var sent struct{ Context json.RawMessage }
	if err := json.Unmarshal([]byte(hookText.Text), &sent); err != nil {
		t.Fatal(err)
	}
	payload, err := rawjson.Parse(sent.Context)
	if err != nil {
		t.Fatal(err)
	}
	shown := ofCommand(payload)

	t.Run("a hook", func(t *testing.T) {
		if got, want := string(hookCall(stagePreexec, &shown)), compact(t, hookText); got != want {
			t.Errorf("sent\n%s, the document prints\n%s", got, want)
		}
	})
	t.Run("its reply", func(t *testing.T) {
		changed, err := parseReply([]byte(replyText.Text))
		if err != nil {
			t.Fatal(err)
		}
		set, _ := toCommand(payload, &shown, changed)
		if got, want := string(set.JSON()), `{"flags":{"priority":"high","due":"tomorrow","tags":"groceries"}}`; got != want {
			t.Errorf("set %s, want %s", got, want)
		}
	})
	t.Run("a command", func(t *testing.T) {
		if got, want := string(commandCall("sync", []string{"--vault", "notes"})), compact(t, commandText); got != want {
			t.Errorf("sent\n%s, the document prints\n%s", got, want)
		}
	})
	t.Run("an error", func(t *testing.T) {
		said := saidOn(errorText.Text)
		if said == nil || said.Error() != "vault not found at /path/to/vault (VAULT_NOT_FOUND)" {
			t.Errorf("%v", said)
		}
	})
	t.Run("a lifecycle event", func(t *testing.T) {
		if got, want := string(lifecycleCall(eventHealth)), compact(t, lifecycleText); got != want {
			t.Errorf("sent\n%s, the document prints\n%s", got, want)
		}
	})
	t.Run("the version", func(t *testing.T) {
		if line := `"protocol_version": "` + protocolVersion + `"`; plugtest.Seed(t, "001").Span(line, line).Text != line+"\n" {
			t.Error("the document prints another")
		}
	})
}

// indentation has the depth of each line of the document's Python program, which is printed without
// its indentation.
const indentation = "000011112332211121122101"

// pythonExample returns the document's transform plugin, with its indentation put back.
func pythonExample(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(plugtest.Seed(t, "001").Span("#!/usr/bin/env python3", "main()").Text, "\n"), "\n")
	if len(lines) != len(indentation) {
		t.Fatalf("the program has %d lines", len(lines))
	}
	for i, depth := range indentation {
		lines[i] = strings.Repeat("    ", int(depth-'0')) + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestSeedPythonExample: the document's transform plugin works. It crashes on lifecycle events, and
// its hooks work nevertheless.
func TestSeedPythonExample(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	r := newRig(t)
	r.script("tags", "[[hooks]]\ncommand=\"todo.*\"\nstage=\"preexec\"\nmode=\"transform\"\n", pythonExample(t))
	p := r.open()[0]
	for _, c := range []struct{ rule, flags, want string }{
		{"tags are added", `{"priority":"high"}`, `{"priority":"high","tags":"auto-tagged"}`},
		{"existing tags are left alone", `{"tags":"mine"}`, `{"tags":"mine"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			out := fired(t, hook.CommandBefore, `{"command":"todo.add","args":["buy milk"],"flags":`+c.flags+`}`, p.Hooks()...)
			if got, want := string(out.Payload), `{"command":"todo.add","args":["buy milk"],"flags":`+c.want+`}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("at a tool call", func(t *testing.T) {
		h, err := p.Connect(stagePreexec, hook.ToolBefore)
		if err != nil {
			t.Fatal(err)
		}
		out := fired(t, hook.ToolBefore, `{"tool":"todo.add","arguments":{"n":5}}`, h)
		if got := string(out.Payload); got != `{"tool":"todo.add","arguments":{"n":5,"tags":"auto-tagged"}}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("its health is unknown, which is not an error", func(t *testing.T) {
		p.CheckHealth(t.Context())
		if st := p.Status(); st.Err != nil || st.Health != "no answer to health: KeyError: 'context'" {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("another version is refused in words the host knows", func(t *testing.T) {
		cmd := exec.Command(p.program)
		cmd.Stdin = strings.NewReader(`{"protocol_version":"2.0.0"}`)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil {
			t.Error("it accepts version 2")
		}
		if said := saidOn(stderr.String()); said == nil || !said.outdated() {
			t.Errorf("stderr %q", stderr.String())
		}
	})
}

// TestSeedGoExample: the document's notify plugin compiles and works.
func TestSeedGoExample(t *testing.T) {
	plugtest.NeedTool(t, "go")
	program := plugtest.Seed(t, "001").Span("package main", "").Text
	source := filepath.Join(t.TempDir(), "main.go")
	r := newRig(t)
	r.must(os.WriteFile(source, []byte(program), 0o644))
	dir := r.folder("logs", manifestOf("logs", "[[hooks]]\ncommand=\"*\"\nstage=\"notify\"\nmode=\"notify\"\n"))
	build := exec.Command("go", "build", "-o", filepath.Join(dir, programPrefix+"logs"), source)
	build.Dir = filepath.Dir(source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := r.open()[0]
	out := fired(t, hook.CommandDone, `{"command":"todo.add"}`, p.Hooks()...)
	if s := out.Steps[0]; s.Err != nil || s.Hook != stageNotify {
		t.Errorf("step %+v", s)
	}
	if !strings.Contains(r.log.String(), "Command executed: todo.add") {
		t.Errorf("log\n%s", r.log)
	}
	p.CheckHealth(t.Context())
	if st := p.Status(); st.Err != nil {
		t.Errorf("status %+v", st)
	}
}

// TestShellPlugins: the message is compact and ends with a newline, so that shell plugins can match
// it.
func TestShellPlugins(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	plugtest.NeedTool(t, "jq")
	r := newRig(t)
	r.script("shout", everyStage, `#!/usr/bin/env bash
set -euo pipefail
read -r line
grep -q '"type":"hook"' <<<"$line" || exit 0
jq -c '{status: "ok", context: (.context | .args |= map(ascii_upcase))}' <<<"$line"
`)
	out := fired(t, hook.CommandValidate, `{ "command" : "say", "args" : [ "hi", "you" ] }`, r.open()[0].Hooks()...)
	if got := string(out.Payload); got != `{"command":"say","args":["HI","YOU"]}` {
		t.Errorf("got %s", got)
	}
}
