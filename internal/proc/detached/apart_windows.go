package detached

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// detachedAttr starts the process without the console of its parent.
func detachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

func end(p *os.Process) error { return p.Kill() }
