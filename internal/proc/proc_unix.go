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

// childAttr gives the child its own session, and so its own process group: all processes that it
// starts can be signalled together, and Ctrl-C at the host's terminal does not reach it before the
// host has decided what to do. A group alone would leave it the terminal: a child that reads from
// /dev/tty in the background is stopped, and the host would wait for it in vain.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// guardianAttr puts the guardian in its own session, out of reach of the host's terminal.
func guardianAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// sendGroup signals the group. The caller holds p.mu and has checked that the leader is not reaped.
// The leader cannot leave its group, because it leads a session. An error means that no process is
// left to get the signal.
func (p *Process) sendGroup(s sig) {
	err := syscall.Kill(-p.Pid(), s)
	if err != nil || s == sigKill { // not SIGTERM twice, which some programs take as a request to end at once
		_ = p.os.Signal(s)
	}
}

// exitOf translates the result of wait. state is nil if the exit is unknown.
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

// maxLeftover is the largest size of a pipe.
const maxLeftover = 1 << 20

// leftover reads the bytes that are in a pipe now, regardless of its deadline.
func leftover(pipe *os.File) []byte {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	var all []byte
	buf := make([]byte, 32<<10)
	for len(all) < maxLeftover {
		n := 0
		if conn.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) }) != nil || err != nil || n <= 0 { // this never blocks
			break
		}
		all = append(all, buf[:n]...)
	}
	return all
}
