package cli

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// TestCheckOfARunningEngine: if no block was read, the output does not say that nothing is damaged,
// even if the process that runs the engine is not known.
func TestCheckOfARunningEngine(t *testing.T) {
	for pid, want := range map[int]string{0: "another process runs the engine", 7: "process 7 runs the engine"} {
		c := newConsole(t)
		a := &app{IO: c.IO, out: &output{w: &c.out}}
		a.showCheck(&engine.CheckResult{Dir: t.TempDir(), Running: pid})
		if got := c.out.String(); !strings.Contains(got, want) || strings.Contains(got, "nothing is damaged") {
			t.Errorf("process %d: %s", pid, got)
		}
	}
}

// TestStoredDataAt80Columns: reports of damage and the head of a trace are broken between words.
func TestStoredDataAt80Columns(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	c.Width, c.OutTTY = 80, true
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	damage := blocks.Finding{Stream: "patchbay_stream_transcripts", Block: 1, Kind: "damaged", Whole: 11, Cut: 10, Lost: 1, Kept: "/e/damaged/1.blk"}
	a.showCheck(&engine.CheckResult{Dir: "/e", Running: 7, Reports: []engine.Report{{Dir: "/e/damaged/2026-11-19T21-07-23.102873989Z", Findings: []blocks.Finding{damage}}}})
	trace := &daemon.KeptTrace{ID: 2, Session: "ses_01m7tt4nm6nbaenrj3zc0pm0jj", Turn: "turn_01m7tt4nmjza7prwbvv3beg1jw", Outcome: &hook.Trace{Outcome: &hook.Outcome{}}}
	if err := a.drawTrace(trace); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.out.String()) {
		if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
}
