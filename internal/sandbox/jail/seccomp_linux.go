package jail

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the kernel puts what a filter looks at (struct seccomp_data).
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16 // the low half; both machines below are little-endian
	offArg1   = 24
)

// x32 marks the calls of a second interface on amd64, with the same numbers and other sizes.
const x32 = 0x40000000

// newNamespaces are the flags by which clone enters a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refused are the system calls that no plugin needs and many an escape does.
var refused = append([]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
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

// families are the kinds of socket a plugin may make. Of netlink only the one by which libraries ask for addresses.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// localFamilies are those without a network, where no namespace keeps it away.
var localFamilies = []uint32{unix.AF_UNIX}

// FilterPossible reports whether system calls can be filtered on this kind of machine.
func FilterPossible() bool { return archHere() != 0 }

func archHere() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// filter is the programme that the kernel asks about each system call. What is refused is an error to the plugin, not its end:
// libraries try things out.
func filter(plan *Plan) []unix.SockFilter {
	allowed := families
	if plan.Simple && !plan.Sockets {
		allowed = localFamilies
	}
	p := block{
		load(offArch), onlyIf(archHere(), refuse(unix.EPERM)),
		load(offNumber), ifAtLeast(x32, refuse(unix.ENOSYS)),
	}
	for _, number := range refused {
		p = append(p, ifEqual(number, refuse(unix.EPERM)))
	}
	p = append(p, ifEqual(unix.SYS_CLONE3, refuse(unix.ENOSYS))) // its flags are in memory, where a filter cannot look; libraries fall back on clone
	p = p.argument(unix.SYS_CLONE, offArg0, block{ifAny(newNamespaces, refuse(unix.EPERM))})
	p = p.argument(unix.SYS_PTRACE, offArg0, block{ifEqual(unix.PTRACE_TRACEME, allowCall()), {refuse(unix.EPERM)}})
	p = p.argument(unix.SYS_MEMFD_CREATE, offArg1, block{ifAny(unix.MFD_NOEXEC_SEAL, allowCall()), {refuse(unix.EACCES)}})
	p = p.argument(unix.SYS_IOCTL, offArg1, block{ifEqual(unix.TIOCSTI, refuse(unix.EPERM)), ifEqual(unix.TIOCLINUX, refuse(unix.EPERM)),
		ifEqual(unix.TIOCSETD, refuse(unix.EPERM))})
	sockets := block{}
	for _, family := range allowed {
		sockets = append(sockets, ifEqual(family, allowCall()))
	}
	sockets = append(sockets, []unix.SockFilter{onlyIf(unix.AF_NETLINK, refuse(unix.EAFNOSUPPORT))[0], refuse(unix.EAFNOSUPPORT),
		load(offArg0 + 16)[0]}, ifEqual(unix.NETLINK_ROUTE, allowCall()), []unix.SockFilter{refuse(unix.EAFNOSUPPORT)})
	p = p.argument(unix.SYS_SOCKET, offArg0, sockets)
	p = p.argument(unix.SYS_SOCKETPAIR, offArg0, block{ifEqual(unix.AF_UNIX, allowCall()), {refuse(unix.EAFNOSUPPORT)}})
	return append(p.flat(), allowCall())
}

// A block is a filter under construction: short sequences, one after the other.
type block [][]unix.SockFilter

// argument adds a block for one system call, which looks at one of its arguments. After it the number is loaded again.
func (p block) argument(number, offset uint32, b block) block {
	var inside []unix.SockFilter
	inside = append(inside, load(offset)...)
	for _, part := range b {
		inside = append(inside, part...)
	}
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

// ifEqual does the one instruction where the value loaded is k, and else passes over it.
func ifEqual(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: k}, then}
}

// onlyIf does the one instruction where the value loaded is not k.
func onlyIf(k uint32, otherwise unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: k}, otherwise}
}

func ifAtLeast(k uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: k}, then}
}

func ifAny(bits uint32, then unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: bits}, then}
}

func allowCall() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func refuse(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// setFilter puts a filter on this thread.
func setFilter(instructions []unix.SockFilter) error {
	if !FilterPossible() {
		return nil
	}
	p := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return errno
	}
	return nil
}
