//go:build unix

package builtin

import (
	"os"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

const (
	shellName = "sh -c"

	// maxCommand keeps below what Linux takes as one argument (MAX_ARG_STRLEN, 128 KiB).
	maxCommand = 120 << 10
)

// newCommand is how a command is started. A shell makes a pipe of ours both stdout and stderr, so
// that all comes in the order in which it was written, and gives it an empty stdin; then it becomes
// the shell that gets the command, as it was written. The pipe is ours because [proc.Process.Stop]
// closes its own the moment the process has ended, with its last words perhaps still in it.
func newCommand(cmd string, _ []string) (*command, error) {
	const join = `exec /bin/sh -c "$1" </dev/null >&3 2>&1 3>&-`
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &command{
		Spec:    proc.Spec{Path: "/bin/sh", Args: []string{"-c", join, "sh", cmd}, Files: []*os.File{write}},
		output:  read,
		release: func() { _ = read.Close() },
	}, nil
}
