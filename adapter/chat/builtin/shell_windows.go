package builtin

import (
	"errors"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

const (
	shellName  = "cmd.exe, as a batch file,"
	maxCommand = 1 << 20 // a batch file may be long
)

// newCommand is how a command is started. It goes into a batch file, because cmd.exe does not
// understand arguments as other programs do: no quoting carries every command through its command
// line. The shell joins stderr to stdout and gives it an empty stdin.
func newCommand(cmd string, environ []string) (*command, error) {
	f, err := os.CreateTemp("", "patchbay-*.cmd")
	if err != nil {
		return nil, err
	}
	remove := func() { _ = os.Remove(f.Name()) } // what is left behind is in the directory for such things
	script := "@echo off\n@chcp 65001 >nul\n" + strings.ReplaceAll(cmd, "\r\n", "\n") + "\n"
	_, err = f.WriteString(strings.ReplaceAll(script, "\n", "\r\n"))
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return nil, err
	}
	return &command{
		Spec:    proc.Spec{Path: interpreter(environ), Args: []string{"/d", "/c", f.Name(), "2>&1", "<nul"}},
		release: remove,
	}, nil
}

// interpreter is the command interpreter, where the environment says it is.
func interpreter(environ []string) string {
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.EqualFold(name, "ComSpec") && value != "" {
			return value
		}
	}
	return `C:\Windows\System32\cmd.exe`
}
