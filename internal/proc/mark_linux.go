package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// markCeiling returns the highest value that a child may be marked with: the host's own hard limit,
// or 0 if marks cannot be read back.
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

// setMark marks a process. All processes that it forks from then on inherit the mark.
func setMark(pid int, value uint64) error {
	limit := unix.Rlimit{Cur: value, Max: value}
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
}
