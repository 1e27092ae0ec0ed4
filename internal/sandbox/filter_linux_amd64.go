package sandbox

import "golang.org/x/sys/unix"

// refusedHere are calls that only this kind of machine has.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS__SYSCTL, unix.SYS_USELIB, unix.SYS_USTAT,
	unix.SYS_SYSFS, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_NFSSERVCTL}

// modeCallsHere and openCallsHere are the old forms of calls, which newer machines do not have.
var (
	modeCallsHere = []moded{{unix.SYS_CHMOD, 1}, {unix.SYS_CREAT, 1}, {unix.SYS_MKNOD, 1}}
	openCallsHere = []moded{{unix.SYS_OPEN, 2}}
)
