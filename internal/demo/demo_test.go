package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a sample plugin, as the patchbay binary is.
func TestMain(m *testing.M) {
	if sample := Sample(os.Args); sample != nil {
		if err := sample(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
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
		"stop by guard",
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
