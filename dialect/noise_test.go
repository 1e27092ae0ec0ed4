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

func TestALateReplyIsADetail(t *testing.T) {
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n := NewNoiseLog(func() *slog.Logger { return logger })
	n.Take(wire.Noise{Kind: wire.NoiseLate, Line: "{}"})
	n.Take(wire.Noise{Kind: wire.NoiseWrongID, Line: "{}"})
	if got := log.String(); !strings.Contains(got, `level=DEBUG msg="unexpected output" kind="late reply"`) ||
		!strings.Contains(got, `level=WARN msg="unexpected output" kind="wrong id"`) {
		t.Errorf("log:\n%s", got)
	}
}
