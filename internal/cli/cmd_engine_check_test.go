package cli

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
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
