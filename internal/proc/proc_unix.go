//go:build unix

package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

type sig = syscall.Signal

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

// openNonblock opens a named pipe without waiting for its writer.
const openNonblock = syscall.O_NONBLOCK

const guardianPossible = true

// childAttr gives the child a process group of its own, so that all it starts can be signalled together and Ctrl-C
// at the host's terminal does not reach it before the host has decided what to do.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// guardianAttr puts the guardian in a session of its own, out of reach of the host's terminal.
func guardianAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// sendGroup signals the group. The caller holds p.mu and has seen that the leader is not reaped. A leader can move to
// another group, even the host's own; it is reached by its handle then. An error means that nobody is left to take
// the signal.
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

// busy reports the error of starting a file that someone has open for writing. It passes: when one goroutine writes
// a plugin's file while another forks, the fork holds the file open until its exec.
func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// executable reports whether the file is one that we may run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// candidates are the file names under which a program may lie in a directory of PATH.
func candidates(name string, _ []string) []string { return []string{name} }

// hasSlash reports whether a program is named by its path and not looked up in PATH.
func hasSlash(name string) bool { return strings.Contains(name, "/") }

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
