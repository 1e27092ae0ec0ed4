package proc

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// markCeiling is the highest value a child may be marked with: the host's own hard limit, 0 where marks cannot be
// read back.
func markCeiling() uint64 {
	if _, err := os.Stat("/proc/self/limits"); err != nil {
		return 0
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		return 0
	}
	return limit.Max
}

// slowStart is how long a start takes at most where the kernel lets us run right after the child's exec. It takes
// a third of that.
const slowStart = time.Millisecond

// setMark marks a process whose start began at a moment just past. Nothing can be put between fork and exec from here,
// so some microseconds of the child's life pass unmarked; its loader is at work then. Only where the machine was too
// busy to run us can the program itself have been faster than we are, and have forked; then its children are looked for
// and marked as well (that costs a twentieth of a spawn, so it is not done each time). A program that forks twice in that
// moment, and lets the one between exit, is not found.
func setMark(pid int, value uint64, began time.Time) error {
	if err := markOne(pid, value); err != nil {
		return err
	}
	if time.Since(began) > slowStart {
		markChildren(pid, value)
	}
	return nil
}

func markOne(pid int, value uint64) error {
	limit := unix.Rlimit{Cur: value, Max: value}
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
}

// markChildren marks what a process has forked, and what that has forked. From the moment a process is marked, its new
// children are born with the mark, so one look at each is enough.
func markChildren(pid int, value uint64) {
	for _, child := range childrenOf(pid) {
		if err := markOne(child, value); err == nil {
			markChildren(child, value)
		}
	}
}

// childrenOf lists the children of a process's first thread.
func childrenOf(pid int) []int {
	id := strconv.Itoa(pid)
	text, err := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	if err != nil || len(text) == 0 { // the file is optional in the kernel's configuration
		return nil
	}
	var children []int
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}
