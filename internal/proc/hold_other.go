//go:build !linux

package proc

import (
	"log/slog"
	"os"
)

type hold struct{}

// start starts a program; there is no mark here that it would have to be held for.
func (*hold) start(_ *slog.Logger, c command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	return startFree(c, attr, born)
}

func gainsPrivileges(string) bool { return false } // asked only for the sake of holding
