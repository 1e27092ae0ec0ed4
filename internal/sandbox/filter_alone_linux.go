//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Landlock does not control the attributes of files: mode, owner, times, flags, extended
// attributes. With namespaces, mounts protect them: other files are not visible, and those of a
// read-only mount cannot be changed. With Landlock alone a plugin could change them for every file
// of its user, so the filter refuses the calls. A filter sees numbers and pointers, never a path,
// so it cannot tell a file that may be written from any other. It can tell a path from a
// descriptor, and Landlock has checked how a descriptor was opened.

// attributePaths are the calls that change attributes of a file by its path. Some take a descriptor
// and an empty path instead (AT_EMPTY_PATH), but the filter cannot see whether the path is empty.
var attributePaths = append([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_FILE_SETATTR}, attributePathsHere...)

// timeCalls take a path, or a descriptor where the path is null.
var timeCalls = append([]uint32{unix.SYS_UTIMENSAT}, timeCallsHere...)

// attributeDescriptors are the calls that change attributes by a descriptor.
var attributeDescriptors = []uint32{unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR}

// attributeReads are the calls that read extended attributes and flags of a file by its path.
var attributeReads = []uint32{unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_GETXATTRAT, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR,
	unix.SYS_LISTXATTRAT, unix.SYS_FILE_GETATTR}

// The commands of ioctl that x/sys does not name.
const (
	fsGetFlagsX = 0x801c581f // FS_IOC_FSGETXATTR
	fsSetFlagsX = 0x401c5820 // FS_IOC_FSSETXATTR
	fsExtents   = 0xc020660b // FS_IOC_FIEMAP
	blockSize   = 0x2        // FIGETBSZ

	// kindBits of a command say what it applies to: terminals and descriptors of every kind
	// (FIONREAD, FIONBIO), or sockets.
	kindBits    = 0xff00
	kindGeneral = 0x5400
	kindSockets = 0x8900
)

// harmlessControls are ioctl commands on files that change nothing, or need a descriptor that was
// opened for writing.
var harmlessControls = []uint32{unix.FS_IOC_GETFLAGS, fsGetFlagsX, fsExtents, blockSize, unix.FICLONE, unix.FICLONERANGE}

// withoutNamespaces adds the calls that must be refused if only Landlock restricts access to files
// and other processes.
func (p block) withoutNamespaces(a *attributes, landlock int) block {
	p = p.changes(a)
	if !a.Read {
		for _, number := range attributeReads {
			p = append(p, ifEqual(number, refuse(unix.EOPNOTSUPP))) // as if the file system had none, so that programs which copy them go on
		}
	}
	p = p.controls(a)
	p = p.opens(a, landlock)
	return p.others()
}

// changes refuses the calls that change attributes, as far as a does not allow them.
func (p block) changes(a *attributes) block {
	if a.ByPath {
		return p
	}
	for _, number := range attributePaths {
		p = append(p, ifEqual(number, refuse(unix.EPERM)))
	}
	for _, number := range timeCalls {
		p = p.argument(number, arg(1), block{notNull(1, refuse(unix.EPERM))})
	}
	if a.ByDescriptor {
		return p
	}
	for _, number := range slices.Concat(timeCalls, attributeDescriptors) {
		p = append(p, ifEqual(number, refuse(unix.EPERM)))
	}
	return p
}

// controls allows only known commands of ioctl. File systems have others that change something and
// ask only for a descriptor that was opened for reading: btrfs makes snapshots in a directory,
// fs-verity makes a file unchangeable.
func (p block) controls(a *attributes) block {
	var b block
	for _, command := range harmlessControls {
		b = append(b, ifEqual(command, allowCall()))
	}
	for _, command := range []uint32{unix.FS_IOC_SETFLAGS, fsSetFlagsX} {
		then := refuse(unix.EPERM)
		if a.ByPath || a.ByDescriptor {
			then = allowCall()
		}
		b = append(b, ifEqual(command, then))
	}
	b = append(b, only(kindBits), ifEqual(kindGeneral, allowCall()), ifEqual(kindSockets, allowCall()), []unix.SockFilter{refuse(unix.ENOTTY)})
	return p.argument(unix.SYS_IOCTL, arg(1), b)
}

// opens closes two gaps of Landlock. A file can be opened for neither reading nor writing (access
// mode 3). Landlock then asks for no right, and the descriptor would be good for changing
// attributes of any file. And before version 3, Landlock let a program truncate a file that it had
// not opened for writing.
func (p block) opens(a *attributes, landlock int) block {
	for _, c := range openCalls {
		p = p.argument(c.number, arg(c.mode-1), block{only(unix.O_ACCMODE), ifEqual(unix.O_ACCMODE, refuse(unix.EACCES))})
		if landlock < 3 && !a.ByPath {
			look := slices.Concat(only(unix.O_ACCMODE), ifEqual(unix.O_RDONLY, refuse(unix.EACCES)))
			p = p.argument(c.number, arg(c.mode-1), block{unlessAny(unix.O_TRUNC, look)})
		}
	}
	if landlock < 3 && !a.ByPath {
		p = append(p, ifEqual(unix.SYS_TRUNCATE, refuse(unix.EPERM)))
	}
	return p
}

// ownPriority are the calls that set how a thread is scheduled; the first argument is its number, 0
// for the caller.
var ownPriority = []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR}

// others protects limits and priorities of the user's other processes: a limit of CPU time would
// end them. A program can set its own, named by 0. It cannot name itself by its number, which is
// not known when the filter is written.
func (p block) others() block {
	p = p.argument(unix.SYS_PRLIMIT64, arg(0), block{ifEqual(0, allowCall()), notNull(2, refuse(unix.EPERM))})
	for _, number := range ownPriority {
		p = p.argument(number, arg(0), block{ifNotEqual(0, refuse(unix.EPERM))})
	}
	everybody := map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: ioprioUser}
	for _, number := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		p = p.argument(number, arg(0), block{ifEqual(everybody[number], refuse(unix.EPERM)), load(arg(1)), ifNotEqual(0, refuse(unix.EPERM))})
	}
	return p
}

// ioprioUser is IOPRIO_WHO_USER: all processes of a user.
const ioprioUser = 3
