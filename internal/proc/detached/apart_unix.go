//go:build unix

package detached

import (
	"os"
	"syscall"
)

// detachedAttr puts the process in its own session: it has no terminal, and a signal to the process
// group of its parent does not reach it.
func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func end(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
