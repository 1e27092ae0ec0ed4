package proc

import (
	"os"
	"syscall"
)

// sig has no meaning here but the last one: Windows has no SIGTERM for programs without a console.
type sig int

const (
	sigTerm sig = iota
	sigKill
)

// guardianPossible is false: with no mark and no groups, a guardian would find nobody.
const guardianPossible = false

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func guardianAttr() *syscall.SysProcAttr { return nil }

// sendGroup kills the process itself, on the last rung of the ladder; what it started lives on.
func (p *Process) sendGroup(s sig) {
	if s == sigKill {
		_ = p.os.Kill()
	}
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1, Signal: "unknown"}
	}
	return Exit{Code: state.ExitCode()}
}

func ownExecutable() (string, error) { return os.Executable() }

// closeInherited has nothing to do: handles are inherited only when listed.
func closeInherited() error { return nil }

// awaitExit returns when the process has ended, and leaves it to be waited for.
func awaitExit(p *os.Process) { awaitHandle(p, syscall.INFINITE) }

func awaitExitSoon(p *os.Process) { awaitExit(p) }

// hasExited reports whether the process has ended.
func hasExited(p *os.Process) bool { return awaitHandle(p, 0) }

func awaitHandle(p *os.Process, milliseconds uint32) bool {
	ended := false
	_ = p.WithHandle(func(handle uintptr) {
		event, err := syscall.WaitForSingleObject(syscall.Handle(handle), milliseconds)
		ended = err == nil && event == syscall.WAIT_OBJECT_0
	})
	return ended
}

// signalNumber: processes do not end by signals here.
func signalNumber(string) int { return 0 }

// leftover is nothing: pipes have no deadlines here, so nobody comes late.
func leftover(*os.File) []byte { return nil }
