package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// The rights over files.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	deviceRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	allRights    = readRights | writeRights | deviceRights | unix.LANDLOCK_ACCESS_FS_EXECUTE

	// mountedRights are the rights that Landlock restricts where mounts restrict the others:
	// executing one file but not another in the same mount, and writing to a named pipe, which a
	// read-only mount does not forbid (see planner.moveOutside). LANDLOCK_ACCESS_FS_REFER is among
	// them because without it no file could be moved to another directory.
	mountedRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
)

// landlockVersion returns the kernel's version of Landlock, 0 if it has none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// knownRights returns the rights over files that a version of Landlock can restrict.
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

// landlock returns the rules for a version of Landlock. Without namespaces everything depends on
// them, so they are made for a kernel without Landlock too: the kernel then refuses them, and the
// start fails.
func (d *draft) landlock(version int) jail.Landlock {
	var l jail.Landlock
	if version == 0 && !d.Simple {
		return l
	}
	l.Handled = knownRights(version)
	if !d.Simple {
		l.Handled &= mountedRights
	}
	if version >= 6 {
		l.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	allow := func(path string, rights uint64) {
		if rights &= l.Handled; rights != 0 {
			l.Rules = append(l.Rules, jail.Rule{Path: path, Rights: rights})
		}
	}
	for _, file := range d.Exec {
		allow(file, unix.LANDLOCK_ACCESS_FS_EXECUTE)
	}
	for _, a := range d.Access {
		allow(a.Path, a.rights())
	}
	if !d.Simple {
		allow("/", unix.LANDLOCK_ACCESS_FS_REFER)
		for _, m := range d.Mounts {
			if m.Kind == jail.Temp || m.Write {
				allow(m.Target, unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
			}
		}
	}
	return l
}

func (a access) rights() uint64 {
	if a.Write {
		return readRights | writeRights
	}
	return readRights
}
