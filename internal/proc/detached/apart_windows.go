package detached

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart is a process without the console of the one that starts it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

func end(p *os.Process) error { return p.Kill() }
