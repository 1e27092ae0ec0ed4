//go:build unix

package builtin

import (
	"os"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

const (
	shellName = "sh -c"

	// maxCommand stays below the longest argument that Linux accepts (MAX_ARG_STRLEN, 128 KiB).
	maxCommand = 120 << 10
)

// newCommand returns how a command is started. A first shell connects stdout and stderr to one pipe
// of ours, so that all output comes in the order of writing, and connects an empty stdin. Then it
// becomes the shell that gets the command unchanged. The pipe is ours because [proc.Process.Stop]
// closes the process's own pipes as soon as the process has ended, and the last output may still be
// in them.
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
