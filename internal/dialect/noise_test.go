package dialect

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

func TestUnexpectedOutputHasABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		n := NewNoiseLog(func() *slog.Logger { return logger })
		flood := func() int {
			before := strings.Count(log.String(), "unexpected output")
			for range 1000 {
				n.Take(wire.Noise{Kind: wire.NoiseGarbage, Line: "DEBUG hello", Why: "not JSON"})
			}
			return strings.Count(log.String(), "unexpected output") - before
		}
		if got := flood(); got != noiseLines || !strings.Contains(log.String(), "more of it is counted") {
			t.Errorf("%d lines are logged:\n%s", got, log)
		}
		if got := flood(); got != 0 {
			t.Errorf("%d more lines in the same window", got)
		}
		time.Sleep(noiseWindow)
		if got := flood(); got != noiseLines || !strings.Contains(log.String(), "dropped=1980") {
			t.Errorf("in the next window %d lines:\n%s", got, log)
		}
	})
}

// TestUnexpectedOutputSaysWhatToDo: the log shows the line, and says where such output belongs.
func TestUnexpectedOutputSaysWhatToDo(t *testing.T) {
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	n := NewNoiseLog(func() *slog.Logger { return logger })
	n.Take(wire.Noise{Kind: wire.NoiseGarbage, Line: "DEBUG got here", Why: "not JSON"})
	for _, part := range []string{"on stdout", "not a JSON-RPC message", "ignored", `fix="print text for the log to stderr`, `line="DEBUG got here"`, `why="not JSON"`} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is missing:\n%s", part, log)
		}
	}
	texts := map[string]bool{}
	for k := wire.NoiseGarbage; k <= wire.NoiseUnsent; k++ {
		what, _ := noiseText(k)
		texts[what] = true
	}
	if len(texts) != int(wire.NoiseUnsent)-1 { // the second reply to a request and a stale reply share one text
		t.Errorf("%d texts for %d kinds", len(texts), wire.NoiseUnsent)
	}
}

func TestALateReplyIsLoggedAtDebugLevel(t *testing.T) {
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n := NewNoiseLog(func() *slog.Logger { return logger })
	n.Take(wire.Noise{Kind: wire.NoiseLate, Line: "{}"})
	n.Take(wire.Noise{Kind: wire.NoiseWrongID, Line: "{}"})
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `level=DEBUG msg="unexpected output on stdout: a reply came after its call was given up, and was discarded`) || !strings.Contains(lines[0], `kind="late reply"`) ||
		!strings.Contains(lines[1], `level=WARN msg="unexpected output on stdout: a reply has no id, or one that fits no call`) || !strings.Contains(lines[1], `kind="wrong id"`) {
		t.Errorf("log:\n%s", log)
	}
}

// TestOutputWhileAPluginStartsIsAFinding: such output comes at every start, so the doctor reports
// it.
func TestOutputWhileAPluginStartsIsAFinding(t *testing.T) {
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	n := NewNoiseLog(func() *slog.Logger { return logger })
	var found []string
	n.Starting(func(message, fix string) { found = append(found, message+" | "+fix) })
	for range noiseLines + 5 {
		n.Take(wire.Noise{Kind: wire.NoiseGarbage, Line: "banner"})
	}
	n.Started()
	want := `unexpected output on stdout: a line that is not a JSON-RPC message was ignored: "banner" | print text for the log to stderr, and each message on one line of stdout`
	if len(found) != noiseLines || found[0] != want || log.Len() > 0 {
		t.Errorf("found %q, log:\n%s", found, log)
	}
	n.Take(wire.Noise{Kind: wire.NoiseGarbage, Line: "later"})
	if len(found) != noiseLines || strings.Contains(log.String(), "later") {
		t.Errorf("the budget is the same afterwards: %d findings, log:\n%s", len(found), log)
	}
}
