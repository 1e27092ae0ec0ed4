//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the fakes: the test binary, started again as "binary -fake NAME ARG…",
// misbehaves as its name says. The name is in the arguments, not in the environment, because the
// environment is one of the things under test.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fake" {
		fake, ok := fakes[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such fake:", os.Args[2])
			os.Exit(64)
		}
		syscall.Exit(fake(os.Args[3:])) // not os.Exit, which takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}
