package program

import "golang.org/x/sys/unix"

// An identity identifies one state of one file. The time of change is updated with the content, the
// mode and the attributes, and cannot be set back. The size detects changes that follow each other
// faster than the clock ticks.
type identity struct {
	device, inode uint64
	size          int64
	changed       unix.Timespec
}

func identify(file string) (identity, bool) {
	var stat unix.Stat_t
	if err := unix.Stat(file, &stat); err != nil {
		return identity{}, false
	}
	return identity{device: uint64(stat.Dev), inode: stat.Ino, size: stat.Size, changed: stat.Ctim}, true
}
