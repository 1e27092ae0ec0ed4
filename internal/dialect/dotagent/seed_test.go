package dotagent

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
)

// sinkRoam is a plugin as the protocol document describes one: it requires a page, and stores what
// it is sent.
const sinkRoam = `#!/usr/bin/env python3
import json, os, sys

verb = sys.argv[1]
if verb == "info":
    print(json.dumps({"name": "sink-roam", "version": "0.1.0", "kinds": ["sink"], "schema": {"type": "object", "required": ["page"]}}))
    sys.exit()
text = sys.stdin.read()
with open(os.environ["HOME"] + "/" + verb, "w") as f:
    f.write(text)
payload = json.loads(text)
config = payload if verb == "validate" else payload["config"]
print("page is", config["page"], file=sys.stderr)
print(json.dumps({"ok": True, "page": config["page"]}))
`

// TestSeedByHand: the three commands that the protocol document prints under "Testing a plugin"
// work, and Patchbay sends the plugin the same bytes as they do: docs/protocols/dotagent.md, row
// D44.
func TestSeedByHand(t *testing.T) {
	for _, tool := range []string{"bash", "python3", "jq"} {
		plugtest.NeedTool(t, tool)
	}
	blocks := plugtest.Seed(t, "000").Blocks("bash")
	if len(blocks) != 1 || blocks[0].Heading != "Testing a plugin" {
		t.Fatalf("%+v", blocks)
	}
	r := newRig(t)
	script(t, r.home, "sink-roam", sinkRoam)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", blocks[0].Text)
	cmd.Env = []string{"HOME=" + r.home, "PATH=" + userPlace(t, r.home) + string(os.PathListSeparator) + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if got := strings.Count(stdout.String(), `"page": "today"`); got != 2 {
		t.Errorf("the commands printed %s", stdout.String())
	}
	byHand := map[string]string{"validate": kept(t, r, "validate"), "invoke": kept(t, r, "invoke")}

	r.settings.Config = json.RawMessage(byHand["validate"])
	s := step(t, fire(t, hook.JobSink, byHand["invoke"], r.open().Hooks()...))
	if s.Err != nil || string(s.Received) != `{"ok":true,"page":"today"}` {
		t.Errorf("%v, received %s", s.Err, s.Received)
	}
	for verb, want := range byHand {
		if got := kept(t, r, verb); got != want {
			t.Errorf("%s was sent\n%s, by hand\n%s", verb, got, want)
		}
	}
}

// kept returns what the plugin was last sent with a verb.
func kept(t *testing.T, r *rig, verb string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.home, verb))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// uncommented returns a JSON block of the document without its comments.
func uncommented(b plugtest.Block) string {
	var text strings.Builder
	for line := range strings.Lines(b.Text) {
		code, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "//") // no string of the document has two slashes
		text.WriteString(code + "\n")
	}
	return text.String()
}

// printed returns a JSON block of the document, compact and without comments.
func printed(t *testing.T, b plugtest.Block) string {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(uncommented(b))); err != nil {
		t.Fatalf("line %d: %v", b.Line, err)
	}
	return compact.String()
}

// TestSeedBlocks sends and reads every JSON block of the document.
func TestSeedBlocks(t *testing.T) {
	blocks := plugtest.Seed(t, "000").Blocks("jsonc")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	config, payload := printed(t, blocks[1]), printed(t, blocks[2])

	t.Run("info", func(t *testing.T) {
		m, err := parseInfo([]byte(uncommented(blocks[0])), "sink-roam")
		if err != nil {
			t.Fatal(err)
		}
		if m.Version != "0.1.0" || strings.Join(m.Kinds, " ") != "sink" || strings.Join(m.platforms, " ") != "darwin linux" || len(m.warnings) != 0 {
			t.Errorf("%+v", m)
		}
		if m.supported("linux") != nil || m.supported("windows") == nil {
			t.Error("platforms are not as printed")
		}
		if err := m.misfit(json.RawMessage(config)); err != nil {
			t.Errorf("the printed config: %v", err)
		}
		if err := m.misfit(json.RawMessage(`{}`)); err == nil {
			t.Error("a config without the required page passed")
		}
	})
	t.Run("invoke", func(t *testing.T) {
		if got := sent(t, kindSink, hook.JobSink, payload, ""); got != payload {
			t.Errorf("sent\n%s, the document prints\n%s", got, payload)
		}
	})
	t.Run("validate", func(t *testing.T) {
		plugtest.NeedTool(t, "python3")
		r := newRig(t)
		script(t, r.home, "sink-roam", sinkRoam)
		r.settings.Config = json.RawMessage(config)
		r.open()
		if got := kept(t, r, "validate"); got != config+"\n" {
			t.Errorf("sent %q, the document prints %q", got, config)
		}
	})
}

// TestSeedReplies reads the replies that the document prints in its prose.
func TestSeedReplies(t *testing.T) {
	spans := plugtest.Seed(t, "000").Inline("Stdout:")
	var replies []string
	for _, s := range spans {
		if text := strings.Replace(s.Text, "{\"ok\": bool}", "", 1); strings.HasPrefix(text, "{") {
			replies = append(replies, text)
		}
	}
	if len(replies) != 2 {
		t.Fatalf("%q", replies)
	}
	for i, ok := range []bool{true, false} {
		a, err := parseAnswer([]byte(replies[i]))
		if err != nil || a.ok != ok || (a.reason == "") != ok {
			t.Errorf("%s: %+v, %v", replies[i], a, err)
		}
	}
}

// TestShellPlugins: the payload is compact and ends with a newline, so that shell plugins can match
// it: docs/protocols/dotagent.md, row D25.
func TestShellPlugins(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	r := newRig(t)
	script(t, r.home, "vpn", `#!/usr/bin/env bash
set -euo pipefail
case "$1" in
info) echo '{"name":"vpn","kinds":["preflight"]}' ;;
validate) read -r config; [[ $config == '{"host":"vpn.example"}' ]] && echo '{"ok":true}' ;;
invoke)
  read -r payload
  host=$(sed 's/.*"host":"\([^"]*\)".*/\1/' <<<"$payload")
  grep -q '"message":null' <<<"$payload"
  printf '{"ok":false,"error":"%s is down","suggest":"connect %s"}\n' "$host" "$host"
  exit 1 ;;
esac
`)
	r.settings.Config = json.RawMessage(`{ "host": "vpn.example" }`)
	out := fire(t, hook.JobPreflight, `{ "agent": "a", "schedule": "s" }`, r.open().Hooks()...)
	if out.Verdict != hook.Deny || out.Reason != "plugin vpn failed (exit 1): vpn.example is down" || out.Suggest != "connect vpn.example" {
		t.Errorf("%s, %q, %q", out.Verdict, out.Reason, out.Suggest)
	}
}
