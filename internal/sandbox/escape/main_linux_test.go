package escape

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// stages are the processes of the arena. The test binary is started again as "binary -stage NAME".
var stages = map[string]func() error{
	"arena":     runArena,
	"neighbour": runNeighbour,
	"host":      runHost,
	"canary":    runCanary,
	"plugin":    runPlugin,
}

// TestMain also runs every process of the arena.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-stage" {
		if err := stages[os.Args[2]](); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[2], err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
