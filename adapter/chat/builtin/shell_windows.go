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

// newCommand returns how a command is started. The command goes into a batch file, because cmd.exe
// does not parse arguments as other programs do: no way of quoting works for every command. The
// shell joins stderr to stdout and connects an empty stdin.
func newCommand(cmd string, environ []string) (*command, error) {
	f, err := os.CreateTemp("", "patchbay-*.cmd")
	if err != nil {
		return nil, err
	}
	remove := func() { _ = os.Remove(f.Name()) } // if it fails, the file stays in the directory for temporary files
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

// interpreter returns the command interpreter that the environment names.
func interpreter(environ []string) string {
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.EqualFold(name, "ComSpec") && value != "" {
			return value
		}
	}
	return `C:\Windows\System32\cmd.exe`
}
