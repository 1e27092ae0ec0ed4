//go:build unix

package detached

import (
	"os"
	"syscall"
)

// detachedAttr puts the process in its own session: it has no terminal, and signals to the agent do
// not reach it.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func end(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
