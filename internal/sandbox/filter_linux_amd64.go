package sandbox

import "golang.org/x/sys/unix"

// refusedHere are refused calls that only this kind of machine has.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS__SYSCTL, unix.SYS_USELIB, unix.SYS_USTAT,
	unix.SYS_SYSFS, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_NFSSERVCTL}

// These are older forms of calls, which newer machines do not have.
var (
	modeCallsHere = []modeCall{{unix.SYS_CHMOD, 1}, {unix.SYS_CREAT, 1}}
	nodeCallsHere = []modeCall{{unix.SYS_MKNOD, 1}}
	openCallsHere = []modeCall{{unix.SYS_OPEN, 2}}

	attributePathsHere = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES}
	timeCallsHere      = []uint32{unix.SYS_FUTIMESAT}
)
