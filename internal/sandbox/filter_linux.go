//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// The offsets of the fields that a filter reads (struct seccomp_data).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16 // eight bytes each; filters read the low four, which come first because both machines are little-endian
)

// arg returns the offset of the low half of an argument.
func arg(n uint32) uint32 { return offArgs + 8*n }

// unknownCalls is the first number that x/sys has no name for. A newer kernel may have calls beyond
// it that do what the filter refuses under another name, as open_tree_attr does what mount_setattr
// did. A library that finds a new call missing falls back to an older one. The numbers are the same
// on both machines. The numbers of x32, a second interface on amd64, are larger, so they are
// refused too.
const unknownCalls = unix.SYS_RSEQ_SLICE_YIELD + 1

// unknownControls is the first command of fcntl that is refused together with all later ones. The
// first two read and set delegations, which make other programs wait as leases do. The later ones
// are unknown.
const unknownControls = unix.F_GETDELEG

// newNamespaces are the flags by which clone creates a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

const (
	// setuidBits in a file's mode make it run as its owner or group. They would take effect outside
	// the sandbox, where a file that the plugin wrote may be found.
	setuidBits = unix.S_ISUID | unix.S_ISGID

	// device is a bit in the modes of character and block devices. Other files that mknod creates
	// do not have it. The whiteout of overlay file systems is a device (0:0) that any user can
	// create. It hides a file from programs that use its directory as an upper directory.
	device = unix.S_IFCHR

	// creates are the flags with which open reads its mode: O_CREAT, and the bit of O_TMPFILE that
	// belongs to no other flag.
	creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// refused are system calls that no plugin needs and many escapes do.
var refused = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_LISTNS,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_MEMFD_SECRET,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_PERSONALITY,
}, refusedHere...)

// absent are system calls whose arguments are in memory, which a filter cannot read. Libraries fall
// back to the older calls clone and openat.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2}

// A modeCall is a system call and the index of its argument that is the mode of a file.
type modeCall struct{ number, mode uint32 }

// modeCalls and nodeCalls always use the mode. openCalls use it only with the flags in creates; the
// flags are the argument before the mode.
var (
	modeCalls = append([]modeCall{{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2}}, modeCallsHere...)
	nodeCalls = append([]modeCall{{unix.SYS_MKNODAT, 2}}, nodeCallsHere...)
	openCalls = append([]modeCall{{unix.SYS_OPENAT, 3}}, openCallsHere...)
)

// filterHere says that there is a filter for this kind of machine.
const filterHere = true

// archHere returns the kernel's number for this kind of machine.
func archHere() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

// filter returns the seccomp program that the kernel runs at each system call. A refused call
// returns an error and does not kill the plugin, because libraries make a call to find out whether
// the kernel has it. Without namespaces the filter also refuses calls that this version of Landlock
// does not control.
func (d *draft) filter(landlock int) []unix.SockFilter {
	p := block{
		load(offArch), ifNotEqual(archHere(), refuse(unix.EPERM)),
		load(offNumber), ifAtLeast(unknownCalls, refuse(unix.ENOSYS)),
	}
	for _, number := range refused {
		p = append(p, ifEqual(number, refuse(unix.EPERM)))
	}
	for _, number := range absent {
		p = append(p, ifEqual(number, refuse(unix.ENOSYS)))
	}
	p = p.argument(unix.SYS_CLONE, arg(0), block{ifAny(newNamespaces, refuse(unix.EPERM))})
	p = p.argument(unix.SYS_PTRACE, arg(0), block{ifEqual(unix.PTRACE_TRACEME, allowCall()), {refuse(unix.EPERM)}})
	p = p.argument(unix.SYS_MEMFD_CREATE, arg(1), block{ifAny(unix.MFD_NOEXEC_SEAL, allowCall()), {refuse(unix.EACCES)}})
	p = p.argument(unix.SYS_IOCTL, arg(1), block{ifEqual(unix.TIOCSTI, refuse(unix.EPERM)), ifEqual(unix.TIOCLINUX, refuse(unix.EPERM)),
		ifEqual(unix.TIOCSETD, refuse(unix.EPERM))})
	p = p.argument(unix.SYS_RENAMEAT2, arg(4), block{ifAny(unix.RENAME_WHITEOUT, refuse(unix.EPERM))})
	// A process that opens a file on which another has a lease waits for up to 45 seconds.
	p = p.argument(unix.SYS_FCNTL, arg(1), block{ifEqual(unix.F_SETLEASE, refuse(unix.EPERM)), ifAtLeast(unknownControls, refuse(unix.EINVAL))})
	p = p.modes()
	if d.Simple {
		p = p.withoutNamespaces(&d.Attributes, landlock)
	}
	p = p.argument(unix.SYS_SOCKET, arg(0), d.sockets())
	p = p.argument(unix.SYS_SOCKETPAIR, arg(0), block{ifEqual(unix.AF_UNIX, allowCall()), {refuse(unix.EAFNOSUPPORT)}})
	return append(p.flat(), allowCall())
}

// modes refuses calls that create devices or files that run as their owner.
func (p block) modes() block {
	for _, c := range modeCalls {
		p = p.argument(c.number, arg(c.mode), block{ifAny(setuidBits, refuse(unix.EPERM))})
	}
	for _, c := range nodeCalls {
		p = p.argument(c.number, arg(c.mode), block{ifAny(setuidBits|device, refuse(unix.EPERM))})
	}
	for _, c := range openCalls {
		look := append(load(arg(c.mode)), ifAny(setuidBits, refuse(unix.EPERM))...)
		p = p.argument(c.number, arg(c.mode-1), block{unlessAny(creates, look)})
	}
	return p
}

// sockets allows the kinds of sockets that a plugin may create. Of netlink sockets only
// NETLINK_ROUTE is allowed, which libraries use to list addresses. Without namespaces, Internet
// sockets are allowed only if the plugin was granted a network.
func (d *draft) sockets() block {
	var b block
	unixSockets := allowCall()
	if d.NoUnix {
		unixSockets = refuse(unix.EACCES)
	}
	b = append(b, ifEqual(unix.AF_UNIX, unixSockets))
	if !d.Simple || d.Sockets {
		b = append(b, ifEqual(unix.AF_INET, allowCall()), ifEqual(unix.AF_INET6, allowCall()))
	}
	return append(b, ifNotEqual(unix.AF_NETLINK, refuse(unix.EAFNOSUPPORT)),
		load(arg(2)), ifEqual(unix.NETLINK_ROUTE, allowCall()), []unix.SockFilter{refuse(unix.EAFNOSUPPORT)})
}

// A block is a filter under construction, as a list of short instruction sequences.
type block [][]unix.SockFilter

// argument adds a block that examines one argument of a system call. Then it loads the number of
// the call again for the instructions that follow.
func (p block) argument(number, offset uint32, b block) block {
	inside := append(load(offset), b.flat()...)
	inside = append(inside, load(offNumber)...)
	jump := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(inside)), K: number}
	return append(p, append([]unix.SockFilter{jump}, inside...))
}

func (p block) flat() []unix.SockFilter {
	var all []unix.SockFilter
	for _, part := range p {
		all = append(all, part...)
	}
	return all
}

func load(offset uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// ifEqual runs then if the loaded value is k, and otherwise skips it.
func ifEqual(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: k}, then}
}

// ifNotEqual runs otherwise if the loaded value is not k.
func ifNotEqual(k uint32, otherwise unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: k}, otherwise}
}

func ifAtLeast(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: k}, then}
}

func ifAny(bits uint32, then unix.SockFilter) []unix.SockFilter {
	return unlessAny(bits, []unix.SockFilter{then})
}

// notNull runs then if argument n, a pointer, is not null.
func notNull(n uint32, then unix.SockFilter) []unix.SockFilter {
	return slices.Concat(load(arg(n)), ifNotEqual(0, then), load(arg(n)+4), ifNotEqual(0, then))
}

// only masks the loaded value.
func only(bits uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}}
}

// unlessAny skips the instructions if the loaded value has none of the bits.
func unlessAny(bits uint32, then []unix.SockFilter) []unix.SockFilter {
	jump := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(len(then)), K: bits}
	return append([]unix.SockFilter{jump}, then...)
}

func allowCall() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func refuse(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// bytesOf encodes a filter as the kernel reads it.
func bytesOf(filter []unix.SockFilter) []byte {
	var b []byte
	for _, i := range filter {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}
