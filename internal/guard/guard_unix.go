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

// init turns a process started as the guardian into it, before any main can run. See the package
// comment for why this is an init function.
func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	mark, err := ParseMark(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	// The guardian must outlast what ends its host: a terminal that hangs up, Ctrl-C, a
	// supervisor's SIGTERM to all.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	disguise()
	groups := watch(os.Stdin)
	killGroups(groups)
	Sweep(mark)
	syscall.Exit(0) // not os.Exit: reports of coverage or races are not this process's to write
}

// watch reads the host's lines until the host is gone, and returns the process groups that were
// named last. The lines come from the host alone, which holds the only other end of the pipe; one
// that is not understood is passed over, and so is one that the host did not live to finish: half a
// number names somebody else.
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
		case err != nil || pid == 0 || pid == 1 || pid == -1: // kill(-1) would mean everybody
		case pid > 0:
			groups[pid] = true
		default:
			delete(groups, -pid)
		}
	}
}

// killGroups kills the groups whose leader the host had not reaped when it died. A leader may be
// reaped by init before we get here and its number given away again; the moment is too short for
// the numbers to go round.
func killGroups(groups map[int]bool) {
	for pid := range groups {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // gone already: nothing to do
	}
}
