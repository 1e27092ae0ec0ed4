package main

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// quickScript makes the offline model call a tool that the shell blocker of the protocol document
// refuses. The call itself is harmless.
const quickScript = `
- tools: [{name: shell, arguments: {cmd: "echo sudo rm"}}]
- text: Done.
`

// TestSeedQuickStart types the commands of the protocol document as they are printed, and uses its
// example plugins in a turn: docs/protocols/python.md, row P46.
func TestSeedQuickStart(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "python3"} {
		plugtest.NeedTool(t, tool)
	}
	seed := plugtest.Seed(t, "004")
	home := t.TempDir()
	write(t, home, "script.yaml", quickScript)
	s := serve(t, home, "--script", "script.yaml")
	address := strings.TrimPrefix(s.url, "http://")

	typed := func(block plugtest.Block) string { // in a shell, unchanged but for the port
		t.Helper()
		text := strings.ReplaceAll(block.Text, "localhost:8000", strings.Replace(address, "127.0.0.1", "localhost", 1))
		cmd := exec.Command("bash", "-e", "-c", text)
		cmd.Dir, cmd.Env = home, patchbayIn(home).Env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("line %d: %v\n%s", block.Line, err, text)
		}
		return string(out)
	}
	blocks := blocksUnder(seed.Blocks("bash"), "Quick Start")
	if len(blocks) != 3 {
		t.Fatalf("the Quick Start has %d blocks of commands, want 3", len(blocks))
	}
	t.Run("the feature is enabled", func(t *testing.T) {
		var flag struct{ Enabled bool }
		if err := json.Unmarshal([]byte(typed(blocks[0])), &flag); err != nil || !flag.Enabled {
			t.Errorf("%+v, %v", flag, err)
		}
	})
	typed(blocks[1])
	var made struct {
		ID      string
		Plugins []string
	}
	t.Run("a session with the plugin is made", func(t *testing.T) {
		if err := json.Unmarshal([]byte(typed(blocks[2])), &made); err != nil || len(made.Plugins) != 1 || made.Plugins[0] != "logger" {
			t.Errorf("%+v, %v", made, err)
		}
	})
	t.Run("the plugin watches a turn", func(t *testing.T) {
		if answer, status := s.say(made.ID, "hello"); status != http.StatusOK || answer.Text != "Done." || len(answer.Tools) != 1 {
			t.Errorf("status %d: %+v", status, answer)
		}
	})
	t.Run("the example plugins act on a turn", func(t *testing.T) {
		examples := map[string]string{"logger": "Logger Plugin", "footer": "Response Footer Plugin", "shell_blocker": "Shell Blocker Plugin"}
		for name, heading := range examples {
			content := blocksUnder(seed.Blocks("python"), heading)[0].Text
			body, err := json.Marshal(map[string]string{"name": name, "content": content})
			if err != nil {
				t.Fatal(err)
			}
			if status := s.call("POST", "/plugin/save", string(body), nil); status != http.StatusOK {
				t.Errorf("save %s: status %d", name, status)
			}
		}
		id := s.session(`{"plugins": ["logger", "footer", "shell_blocker"]}`)
		answer, _ := s.say(id, "clean up, please")
		if want := "Done.\n\n---\nSession: " + id + "\nTools: shell"; answer.Text != want {
			t.Errorf("the footer: %q, want %q", answer.Text, want)
		}
		if len(answer.Tools) != 1 || !strings.Contains(answer.Tools[0].Result, "Blocked by security policy") ||
			strings.Contains(answer.Tools[0].Result, "sudo rm") {
			t.Errorf("the shell blocker: %+v", answer.Tools)
		}
	})
	t.Run("the session's plugins are changed", func(t *testing.T) {
		patch := blocksUnder(seed.Blocks("bash"), "Session Configuration")[0]
		patch.Text = strings.ReplaceAll(patch.Text, "{id}", made.ID)
		if out := typed(patch); !strings.HasSuffix(out, "\n") || !strings.Contains(out, `"id":"`+made.ID+`","plugins":["logger"]`) {
			t.Errorf("got %s", out)
		}
	})
	s.stop()
	for _, line := range []string{"[logger] Request started: " + made.ID, "[logger] Tool: shell", "Tool #1: shell", "Request completed: 1 tools called"} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("the server's log has no %q:\n%s", line, s.log)
		}
	}
}

// blocksUnder returns the blocks under a heading.
func blocksUnder(blocks []plugtest.Block, heading string) []plugtest.Block {
	var under []plugtest.Block
	for _, b := range blocks {
		if b.Heading == heading {
			under = append(under, b)
		}
	}
	return under
}
