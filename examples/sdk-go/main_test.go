package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

// TestRedact runs in every dialect that has tools.
func TestRedact(t *testing.T) {
	for _, d := range []plugin.Dialect{plugin.Kaged, plugin.Scaffold, plugin.MCP} {
		t.Run(string(d), func(t *testing.T) {
			h := plugintest.New(t, newVeil(), d, plugintest.Options{Config: map[string]any{"mask": "***"}})
			got, err := h.Tool("redact", map[string]any{"text": "password=abc"})
			if want := `{"text":"password=***","secrets":1}`; err != nil || got != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		})
	}
}

func TestGuard(t *testing.T) {
	event := plugin.ToolEvent{Tool: "shell", Arguments: json.RawMessage(`{"cmd":"curl -H 'Authorization: Bearer abc'"}`)}
	for deny, want := range map[bool]string{true: "deny", false: "continue"} {
		h := plugintest.New(t, newVeil(), plugin.Scaffold, plugintest.Options{Config: map[string]any{"deny": deny}})
		if got := plugintest.Fire(h, plugin.ToolBefore, event); got.Verdict != want {
			t.Errorf("deny = %v: got %s %s", deny, got.Verdict, got.Reason)
		}
	}
}

func TestSink(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept")
	h := plugintest.New(t, newVeil(), plugin.Dotagent, plugintest.Options{Config: map[string]any{"file": file}})
	plugintest.Fire(h, plugin.JobSink, plugin.JobEvent{Agent: "a", Schedule: "s", Message: "https://me:abc@example.org\n"})
	if text, err := os.ReadFile(file); err != nil || string(text) != "a/s: https://me:[hidden]@example.org\n" {
		t.Errorf("got %q, %v", text, err)
	}
	h = plugintest.New(t, newVeil(), plugin.Dotagent, plugintest.Options{})
	if got := plugintest.Fire(h, plugin.JobSink, plugin.JobEvent{}); got.Verdict != "deny" || got.Suggest == "" {
		t.Errorf("without a file: %+v", got)
	}
}

func TestScan(t *testing.T) {
	h := plugintest.New(t, newVeil(), plugin.Mine, plugintest.Options{})
	if got := h.CommandWith("fine\ntoken: abc\n", "scan"); got.Stdout != "stdin:2\n" || got.Error != "lines with secrets: 1" {
		t.Errorf("got %+v", got)
	}
	if got := h.Command("scan", filepath.Join(t.TempDir(), "absent")); !strings.Contains(got.Error, "no such file") {
		t.Errorf("got %+v", got)
	}
}

func TestSecretsAreRecognisedByTheirForm(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----"
	for text, want := range map[string]string{
		`{"api_key": "abc"}`: `{"api_key": "*"}`, key + "\nAAAA": key + "*", "The password policy is basic.": "The password policy is basic.",
		"Authorization: Bearer abc.def": "Authorization: Bearer *",
	} {
		if got, _ := hide(text, "*"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
