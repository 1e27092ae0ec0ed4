package scaffold

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestSeedExamples: every example plugin that the protocol document prints works as printed:
// docs/protocols/scaffold.md, row S51.
func TestSeedExamples(t *testing.T) {
	for _, tool := range []string{"python3", "bash", "jq", "git"} {
		plugtest.NeedTool(t, tool)
	}
	doc := plugtest.Seed(t, "003")
	home := t.TempDir()
	dir := pluginDir(t, home)
	for _, b := range doc.Blocks("python", "bash") {
		if strings.HasPrefix(b.Text, "#!") {
			name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(b.Heading[strings.Index(b.Heading, ":")+1:]), " ", "-"))
			if err := os.WriteFile(filepath.Join(dir, name), []byte(b.Text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	gitRepository(t, home)
	b := plugtest.OpenAll(t, New(), home)
	if len(b.Errs) > 0 || len(b.Plugins) != 4 {
		t.Fatalf("%d plugins, errors %v", len(b.Plugins), b.Errs)
	}

	t.Run("git context plugin", func(t *testing.T) {
		out := b.Fire(t, hook.PromptContext, `{"user_message":"hi","dynamic_context":"# Before"}`)
		if !strings.Contains(string(out.Payload), `"dynamic_context":"# Before\n\n# Git Context\nBranch: seed-test\n`) {
			t.Errorf("payload %s", out.Payload)
		}
	})
	t.Run("audit logger", func(t *testing.T) {
		out := b.Fire(t, hook.ToolBefore, `{"tool":"write_file","arguments":{"path":"a b"}}`)
		log, err := os.ReadFile(filepath.Join(home, ".local", "scaffold", "audit.log"))
		if err != nil || !strings.Contains(string(log), ` TOOL write_file {"path":"a b"}`) || out.Verdict != hook.Continue {
			t.Errorf("audit log %q (%v), verdict %s", log, err, out.Verdict)
		}
	})
	t.Run("simple tool provider", func(t *testing.T) {
		result, err := toolOf(t, b, "plugin_system-info_uptime").CallTool(t.Context(), "plugin_system-info_uptime", json.RawMessage(`{}`))
		if err != nil || !result.Success || !strings.Contains(result.Result, "up") {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("plugin template", func(t *testing.T) {
		if named(b, "my-plugin") == nil {
			t.Error("the template was not opened")
		}
	})
}

func gitRepository(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("git", "init", "-q", "-b", "seed-test", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}

func named(b *plugtest.Bench, name string) dialect.Plugin {
	for _, p := range b.Plugins {
		if p.Info().Name == name {
			return p
		}
	}
	return nil
}

func toolOf(t *testing.T, b *plugtest.Bench, tool string) dialect.ToolCaller {
	t.Helper()
	for _, p := range b.Plugins {
		for _, have := range p.Info().Tools {
			if have.Name == tool {
				return p.(dialect.ToolCaller)
			}
		}
	}
	t.Fatalf("no tool %s", tool)
	return nil
}

// TestSeedSession plays the conversation that the document prints: the plugin gives the printed
// replies, and the host must send the printed requests, byte for byte.
func TestSeedSession(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	requests, replies := conversation(t)
	t.Run("with the tool's result", func(t *testing.T) {
		result := replay(t, requests, []string{replies[0], replies[1], replies[2], replies[4]})
		if !result.Success || result.Result != "tool output here" {
			t.Errorf("tool result %+v", result)
		}
	})
	t.Run("with the tool's error", func(t *testing.T) {
		result := replay(t, requests, []string{replies[0], replies[1], replies[3], replies[4]})
		if result.Success || result.Result != "error message" {
			t.Errorf("tool result %+v", result)
		}
	})
}

// conversation splits the document's JSON blocks into requests of the host and replies of the
// plugin.
func conversation(t *testing.T) (requests, replies []string) {
	for _, b := range plugtest.Seed(t, "003").Blocks("json") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(b.Text)); err != nil {
			t.Fatalf("line %d: %v", b.Line, err)
		}
		if strings.Contains(compact.String(), `"method"`) {
			requests = append(requests, strings.TrimSpace(b.Text))
		} else {
			replies = append(replies, compact.String())
		}
	}
	if len(requests) != 4 || len(replies) != 5 {
		t.Fatalf("%d requests and %d replies in the document", len(requests), len(replies))
	}
	return requests, replies
}

// replay runs one session with a plugin that reads its replies from a file and records what it is
// sent.
func replay(t *testing.T, requests, replies []string) dialect.ToolResult {
	home := t.TempDir()
	script := "#!/bin/sh\nexec 3<" + filepath.Join(home, "replies") + "\n" +
		"while IFS= read -r line; do\n  printf '%s\\n' \"$line\" >>" + filepath.Join(home, "requests") + "\n" +
		"  IFS= read -r reply <&3\n  printf '%s\\n' \"$reply\"\ndone\n"
	if err := os.WriteFile(filepath.Join(pluginDir(t, home), "transcript"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "replies"), []byte(strings.Join(replies, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var result dialect.ToolResult
	t.Run("session", func(t *testing.T) { // the session ends with shutdown
		b := plugtest.OpenAll(t, New(), home)
		p := named(b, "my-plugin")
		if p == nil {
			t.Fatalf("not opened: %v", b.Errs)
		}
		checkSeedManifest(t, p.Info())
		out := b.Fire(t, hook.TurnInput, `{"message":"user text"}`)
		if string(out.Payload) != `{"message":"modified text"}` {
			t.Errorf("payload %s", out.Payload)
		}
		var err error
		if result, err = p.(dialect.ToolCaller).CallTool(t.Context(), "plugin_my-plugin_my_tool", json.RawMessage(`{"query":"test"}`)); err != nil {
			t.Error(err)
		}
	})
	sent, err := os.ReadFile(filepath.Join(home, "requests"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(sent)), strings.Join(requests, "\n"); got != want {
		t.Errorf("the host sent\n%s\nthe document prints\n%s", got, want)
	}
	return result
}

func checkSeedManifest(t *testing.T, info dialect.Info) {
	t.Helper()
	if info.Version != "1.0.0" || info.Description != "What this plugin does" || info.Priority != 500 ||
		strings.Join(info.Hooks, " ") != "context_enhance post_user_input" || len(info.Tools) != 1 {
		t.Errorf("manifest %+v", info)
	}
	want := `{"type":"object","properties":{"limit":{"type":"number","description":"Max results"},"query":{"type":"string","description":"Search query"}},"required":["query"]}`
	if got := string(info.Tools[0].Parameters); got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
}

// TestSeedHookFields: each hook is sent the params that the document prints, and reads the reply
// that it prints.
func TestSeedHookFields(t *testing.T) {
	doc := plugtest.Seed(t, "003")
	for _, b := range doc.Inline("Request params:") {
		t.Run(b.Heading+" request", func(t *testing.T) {
			tr := translationOf(b.Heading)
			if tr == nil {
				t.Fatalf("no hook %q", b.Heading)
			}
			payload, err := rawjson.Parse([]byte(strings.Replace(b.Text, `"tool_name"`, `"tool"`, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(tr.params(&hook.Event{Payload: payload})); got != b.Text {
				t.Errorf("sent %s, the document prints %s", got, b.Text)
			}
		})
	}
	for _, b := range doc.Inline("Response fields:") {
		t.Run(b.Heading+" reply", func(t *testing.T) {
			tr := translationOf(b.Heading)
			reply, err := tr.reply(&hook.Event{Point: tr.point}, plugtest.Result(b.Text))
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range tr.fields {
				if strings.Contains(b.Text, `"`+field+`"`) && reply.Set.Get(field) == nil {
					t.Errorf("%s is not applied: %s", field, b.Text)
				}
			}
		})
	}
}
