package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// untyped lists the commands of the README that the test does not run, with the reason.
var untyped = map[string]string{
	"go run ./cmd/patchbay demo":           "TestScripts/demo runs it",
	"make test":                            "it runs this test",
	"patchbay serve status":                "no daemon runs during the test",
	"patchbay serve --install":             "it writes to the service manager of the user who runs the test",
	"patchbay serve":                       "the test starts one, at a free port",
	"patchbay chat":                        "it needs a terminal: TestChatInATerminal has one",
	"patchbay chat --resume":               "it needs a terminal",
	"patchbay chat --script turn.yaml":     "it needs a terminal: the test sends the message with -p",
	"patchbay chat --continue":             "it needs a terminal",
	"patchbay chat --model anthropic:NAME": "it needs a key",
}

// A command that begins with endless runs until it is interrupted.
const endless = "curl -N "

// TestREADME types the shell commands of the README in their order, in an empty home. It does not
// run those in untyped.
func TestREADME(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "python3", "jq", "git", "timeout"} {
		plugtest.NeedTool(t, tool)
	}
	home := t.TempDir()
	before, after := readmeCommands(t)
	out := typeAll(t, home, before)
	out += typeAll(t, filepath.Join(home, "shop"), "patchbay chat -p 'what is in here?' --script turn.yaml --yes\n")
	address := strings.TrimPrefix(serve(t, home).url, "http://")
	out += typeAll(t, home, strings.ReplaceAll(after, "localhost:8000", address))
	for _, want := range []string{"shout: 24 passed, in ", "ready shout 1.0.0 (scaffold), 1 hook, 1 tool", "+ HELLO", "You said: HELLO", "\n6\n", "git version", "nothing is damaged", "two things", "(signed)", "Filesystem", "its manifest has no [[on_success]]", "disk-report"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "warning:") {
		t.Errorf("a warning:\n%s", out)
	}
}

// readmeCommands returns the shell commands of the README, before and after the start of the
// daemon.
func readmeCommands(t *testing.T) (before, after string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := len(untyped)
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(line, " # ")
			switch command = strings.TrimSpace(command); {
			case untyped[command] != "":
				missing--
			case strings.HasPrefix(command, endless):
				script.WriteString("timeout 2 " + command + " || test $? = 124\n")
			default:
				script.WriteString(line)
			}
			if command == "patchbay serve" {
				before = script.String()
				script.Reset()
			}
		}
	}
	if missing != 0 || before == "" {
		t.Errorf("%d commands of untyped are not in the README", missing)
	}
	return before, script.String()
}

// typeAll runs commands in a shell, and returns their output.
func typeAll(t *testing.T, home, commands string) string {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = home, patchbayIn(home).Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
