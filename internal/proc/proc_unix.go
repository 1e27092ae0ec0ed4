//go:build unix

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

type sig = syscall.Signal

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

const guardianPossible = true

// childAttr gives the child a process group of its own, so that all it starts can be signalled
// together and Ctrl-C at the host's terminal does not reach it before the host has decided what to
// do.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// guardianAttr puts the guardian in a session of its own, out of reach of the host's terminal.
func guardianAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// sendGroup signals the group. The caller holds p.mu and has seen that the leader is not reaped. A
// leader can move to another group, even the host's own; it is reached by its handle then. An error
// means that nobody is left to take the signal.
func (p *Process) sendGroup(s sig) {
	err := syscall.Kill(-p.Pid(), s)
	if err != nil || s == sigKill { // but no second SIGTERM, which some programs take for impatience
		_ = p.os.Signal(s)
	}
}

// exitOf translates what wait returned; nil stands for an exit nobody knows.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1, Signal: "unknown"}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// maxLeftover is as much as a pipe can hold.
const maxLeftover = 1 << 20

// leftover reads what is in a pipe now, whatever its deadline.
func leftover(pipe *os.File) []byte {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	var all []byte
	buf := make([]byte, 32<<10)
	for len(all) < maxLeftover {
		n := 0
		if conn.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) }) != nil || err != nil || n <= 0 { // it never blocks
			break
		}
		all = append(all, buf[:n]...)
	}
	return all
}
