package plugininstall

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files or directories in one step: at every moment one of them is in place.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // the file system cannot
		return exchangeSlowly(a, b)
	}
	return err
}
