//go:build unix

package guard

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// init runs the guardian, if the process was started under its name, before main can run. See the
// package comment for why this is an init function.
func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	mark, err := ParseMark(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	// The guardian must survive the signals that end its host: a terminal that hangs up, Ctrl-C, a
	// supervisor's SIGTERM to all processes.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	unmarkAndName()
	groups := watch(os.Stdin)
	killGroups(groups)
	new(Sweeper).Sweep(mark)
	syscall.Exit(0) // os.Exit would also write reports of coverage or races
}

// watch reads the host's lines until the host has ended, and returns the process groups that are
// known then. Only the host writes lines, because it holds the only other end of the pipe. A line
// that cannot be parsed is ignored. So is an incomplete last line, because a part of a number would
// name another process group.
func watch(host io.Reader) map[int]bool {
	groups := make(map[int]bool)
	lines := bufio.NewReaderSize(host, 64)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return groups
		}
		pid, err := strconv.Atoi(line[:len(line)-1])
		switch {
		case err != nil || pid == 0 || pid == 1 || pid == -1: // kill(-1) would signal all processes
		case pid > 0:
			groups[pid] = true
		default:
			delete(groups, -pid)
		}
	}
}

// killGroups kills the groups whose leader the host had not reaped when it ended. Init may have
// reaped a leader meanwhile. Its pid is then free, but it is not used again so soon: pids would
// have to wrap around first.
func killGroups(groups map[int]bool) {
	for pid := range groups {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // may have ended already
	}
}
