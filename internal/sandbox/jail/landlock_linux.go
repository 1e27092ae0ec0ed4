package jail

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock is spoken to directly: the library made for it restricts every thread of the process, and here it must be one.

// The rights over files, in the order in which versions of Landlock brought them.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	deviceRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	allRights    = readRights | writeRights | deviceRights | unix.LANDLOCK_ACCESS_FS_EXECUTE

	// fileRights are those that mean something for a file that is no directory.
	fileRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// LandlockVersion is the kernel's version of Landlock, 0 where it has none.
func LandlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// knownRights are the rights over files that a version of Landlock can take away.
func knownRights(version int) uint64 {
	rights := uint64(allRights)
	if version < 5 {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	return rights
}

// landlock restricts this thread: what it may execute, and without namespaces all that it may touch; no signals to and no abstract
// sockets of processes outside.
func (s *stage) landlock(plan *Plan) error {
	version := LandlockVersion()
	if version == 0 {
		if plan.Simple {
			return while(unix.ENOSYS, "restrict by Landlock")
		}
		s.notes = append(s.notes, "no Landlock: every program in sight may be executed")
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_EXECUTE}
	if plan.Simple {
		attr.Handled_access_fs = knownRights(version)
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return while(errno, "make Landlock rules")
	}
	defer unix.Close(int(rules))
	for _, file := range plan.Exec {
		if err := allow(int(rules), file, unix.LANDLOCK_ACCESS_FS_EXECUTE); err != nil {
			return while(err, "allow the execution of %s", file)
		}
	}
	for _, a := range plan.Access {
		if err := allow(int(rules), a.Path, a.rights()&attr.Handled_access_fs); err != nil {
			return while(err, "allow access to %s", a.Path)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return while(errno, "restrict by Landlock")
	}
	return nil
}

func (a Access) rights() uint64 {
	rights := uint64(readRights)
	if a.Write {
		rights |= writeRights
	}
	if a.Exec {
		rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	return rights
}

// allow adds a rule; what is not there needs none.
func allow(rules int, file string, rights uint64) error {
	fd, err := unix.Open(file, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
