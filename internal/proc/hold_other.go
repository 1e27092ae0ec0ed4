//go:build !linux

package proc

import (
	"log/slog"
	"os"

	"github.com/patchbay-dev/patchbay/internal/program"
)

type hold struct{}

// start starts a program. There is no mark on this system, so it is not held.
func (*hold) start(_ *slog.Logger, c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	return startFree(c, attr, born)
}
