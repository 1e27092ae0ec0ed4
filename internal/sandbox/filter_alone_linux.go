//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Landlock does not know the attributes of files: mode, owner, times, flags, extended attributes. Where there are namespaces, mounts keep
// them: what is not there has none, and what is mounted read-only cannot be changed. Where Landlock must do alone, the owner of a file could
// change them wherever it lies, so the filter refuses the calls. It sees numbers and no paths, so it cannot tell a file that may be written
// from another. It can tell a path from a descriptor: for that, Landlock has looked at how the file was opened.

// attributePaths are the calls that change attributes of a file by its path. With AT_EMPTY_PATH some take a descriptor; whether the path
// is empty a filter cannot see.
var attributePaths = append([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_FILE_SETATTR}, attributePathsHere...)

// timeCalls take a path, or a descriptor where the path is null.
var timeCalls = append([]uint32{unix.SYS_UTIMENSAT}, timeCallsHere...)

// attributeDescriptors are the calls that change attributes by a descriptor.
var attributeDescriptors = []uint32{unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR}

// attributeReads show extended attributes and flags of a file by its path.
var attributeReads = []uint32{unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_GETXATTRAT, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR,
	unix.SYS_LISTXATTRAT, unix.SYS_FILE_GETATTR}

// The commands of ioctl that x/sys does not name.
const (
	fsGetFlagsX = 0x801c581f // FS_IOC_FSGETXATTR
	fsSetFlagsX = 0x401c5820 // FS_IOC_FSSETXATTR
	fsExtents   = 0xc020660b // FS_IOC_FIEMAP
	blockSize   = 0x2        // FIGETBSZ

	// kindBits of a command say whom it is for: terminals and descriptors of every kind (FIONREAD, FIONBIO), or sockets.
	kindBits    = 0xff00
	kindGeneral = 0x5400
	kindSockets = 0x8900
)

// harmlessControls are commands of ioctl for files that change nothing, or ask for a descriptor that was opened for writing.
var harmlessControls = []uint32{unix.FS_IOC_GETFLAGS, fsGetFlagsX, fsExtents, blockSize, unix.FICLONE, unix.FICLONERANGE}

// alone adds what has to be refused where nothing but Landlock keeps files and processes apart.
func (p block) alone(a *attributes, landlock int) block {
	p = p.changes(a)
	if !a.Read {
		for _, number := range attributeReads {
			p = append(p, ifEqual(number, refuse(unix.EOPNOTSUPP))) // as if the file system had none: programs that copy them go on
		}
	}
	p = p.controls(a)
	p = p.opens(a, landlock)
	return p.others()
}

// changes refuses to change attributes.
func (p block) changes(a *attributes) block {
	if a.ByPath {
		return p
	}
	for _, number := range attributePaths {
		p = append(p, ifEqual(number, refuse(unix.EPERM)))
	}
	for _, number := range timeCalls {
		byPath := block{notNull(1, refuse(unix.EPERM))}
		if !a.ByDescriptor {
			byPath = block{{refuse(unix.EPERM)}}
		}
		p = p.argument(number, arg(1), byPath)
	}
	for _, number := range attributeDescriptors {
		if !a.ByDescriptor {
			p = append(p, ifEqual(number, refuse(unix.EPERM)))
		}
	}
	return p
}

// controls allows only known commands of ioctl: file systems have more of them, by which who may only read a directory can make snapshots in it,
// and who may only read a file can seal it.
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

// opens closes two gaps. A file can be opened for neither reading nor writing, with both bits of the mode set: Landlock then asks for no right, and
// its attributes could be changed by the descriptor. And before version 3 Landlock did not know that a file can be
// truncated without being opened for writing.
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

// ownPriority are the calls that set how a thread is scheduled; the first argument is its number, 0 for the caller.
var ownPriority = []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR}

// others keeps limits and priorities of other processes of the same user as they are: a limit of CPU time would end them. Only the caller's own
// can be set, and only where they are named by 0: which numbers are the program's own is not known.
func (p block) others() block {
	p = p.argument(unix.SYS_PRLIMIT64, arg(0), block{ifEqual(0, allowCall()), notNull(2, refuse(unix.EPERM))})
	for _, number := range ownPriority {
		p = p.argument(number, arg(0), block{onlyIf(0, refuse(unix.EPERM))})
	}
	everybody := map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: ioprioUser}
	for _, number := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		p = p.argument(number, arg(0), block{ifEqual(everybody[number], refuse(unix.EPERM)), load(arg(1)), onlyIf(0, refuse(unix.EPERM))})
	}
	return p
}

// ioprioUser is IOPRIO_WHO_USER: all processes of a user.
const ioprioUser = 3
