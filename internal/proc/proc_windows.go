package proc

import (
	"os"
	"syscall"
)

// Of the signals only sigKill has an effect: Windows has no SIGTERM for programs without a console.
type sig int

const (
	sigTerm sig = iota
	sigKill
)

// guardianPossible is false: without marks and process groups a guardian could find no process.
const guardianPossible = false

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func guardianAttr() *syscall.SysProcAttr { return nil }

// sendGroup kills the process itself for sigKill. The processes that it started go on.
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

// closeInherited does nothing: handles are inherited only if they are listed.
func closeInherited() error { return nil }

// awaitExit returns when the process has ended. It does not call Wait.
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

// signalNumber returns 0: processes do not end by signals here.
func signalNumber(string) int { return 0 }

// leftover returns nil: pipes have no deadlines here, so nothing is read late.
func leftover(*os.File) []byte { return nil }
