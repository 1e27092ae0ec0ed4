//go:build unix

package limits

import (
	"math"

	"golang.org/x/sys/unix"
)

// ownDescriptors returns how many descriptors this process may have open; 0 if there is no limit or
// it cannot be known.
func ownDescriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
