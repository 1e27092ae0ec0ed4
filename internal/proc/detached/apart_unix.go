//go:build unix

package detached

import (
	"os"
	"syscall"
)

// apart is a session of its own: no terminal, and no signal of the agent's reaches it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func end(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
