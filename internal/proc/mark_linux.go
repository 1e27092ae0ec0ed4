package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// markCeiling is the highest value a child may be marked with: the host's own hard limit, 0 where
// marks cannot be read back.
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

// setMark marks a process. All that it forks from here on is born with the mark.
func setMark(pid int, value uint64) error {
	limit := unix.Rlimit{Cur: value, Max: value}
	return unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
}
