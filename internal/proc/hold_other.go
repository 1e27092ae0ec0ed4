//go:build !linux

package proc

import (
	"log/slog"
	"os"

	"github.com/patchbay-dev/patchbay/internal/program"
)

type hold struct{}

// start starts a program; there is no mark here that it would have to be held for.
func (*hold) start(_ *slog.Logger, c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	return startFree(c, attr, born)
}
