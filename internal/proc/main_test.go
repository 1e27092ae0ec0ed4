//go:build unix

package proc

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also runs the fakes: the test binary, started again as "binary -fake NAME ARG…",
// misbehaves as its name says. The name is an argument and not in the environment, because the
// environment is under test.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fake" {
		fake, ok := fakes[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such fake:", os.Args[2])
			os.Exit(64)
		}
		syscall.Exit(fake(os.Args[3:])) // os.Exit takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}
