package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestMain lets the test binary be a sample plugin, as the patchbay binary is.
func TestMain(m *testing.M) {
	if sample := Sample(os.Args); sample != nil {
		if err := sample(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		syscall.Exit(0) // not os.Exit, which takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

func TestTheDemoShowsWhoChangedWhat(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Out: &out, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"notebook       kaged", "tidy           scaffold",
		"+ please count the words in notes.md",
		"+ Branch: main",
		"you    ›   pls count the words in   notes.md ",
		"tool   › plugin_words_count {\"text\":\"to be or not to be\"}", "result › 6 words",
		"stop by guard", "result › {\"error\":\"blocked by guard: this deletes files\"}",
		"- There are 6 words. Your key is sk-demo-0123456789abcdef.",
		"+ There are 6 words. Your key is [redacted].",
		"+ 6 words",
		"+ --signoff", "+ Ran: git commit -m tidy up --signoff",
		"deny by disk", "empty the bin, or ask for less than 100 GB",
		"diary  dotagent  sink",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not shown: %q", want)
		}
	}
	if hasPython() && !strings.Contains(out.String(), "model  › There are 6 words. Your key is [redacted].\n         \n         (tools used: plugin_words_count)\n") {
		t.Error("the answer is not shown as the last plugin left it")
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours without being asked for")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestTheDemoAsJSONHasALineForEachScene(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Out: &out, JSON: true}); err != nil {
		t.Fatal(err)
	}
	var points []string
	for line := range strings.Lines(out.String()) {
		var scene struct {
			Point string
			Steps []struct {
				Error *string
				Sent  json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &scene); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		points = append(points, scene.Point)
		for _, s := range scene.Steps {
			if s.Error != nil || len(s.Sent) == 0 {
				t.Errorf("%s: %s", scene.Point, line)
			}
		}
	}
	want := "session.start turn.input prompt.context tool.before tool.after tool.before model.reply"
	if hasPython() {
		want += " turn.final"
	}
	want += " command.before command.after command.done job.preflight job.preflight job.sink job.notify"
	if got := strings.Join(points, " "); got != want {
		t.Errorf("scenes %s, want %s", got, want)
	}
}

func TestACommandThatTheGuardLetPassFailsTheDemo(t *testing.T) {
	guard, other := "guard", "other"
	for name, c := range map[string]struct {
		by *string
		ok bool
	}{
		"the guard answered":             {&guard, true},
		"another plugin answered":        {&other, false},
		"no plugin answered, and it ran": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := wentWell(&chat.Result{Status: session.Done, Tools: []chat.ToolUse{{Name: shellTool, ResolvedBy: c.by}}})
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := wentWell(&chat.Result{Status: session.Skipped}); err == nil {
		t.Error("a turn that was refused counts as shown")
	}
}

func TestTheShellOfTheDemoRunsNothing(t *testing.T) {
	if _, err := noShell.Run(t.Context(), chat.Call{}); err == nil {
		t.Error("the shell ran a command")
	}
}

func TestTheDemoLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if err := Run(t.Context(), Options{Out: &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
