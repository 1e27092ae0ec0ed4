package jail

import (
	"syscall"
	"unsafe"
)

// This file has the parts of the kernel's interface that package syscall lacks. A test compares
// every number with x/sys/unix, which would take too long to initialise here.

// System calls from 424 on have the same number on every kind of machine except MIPS. There these
// numbers are no calls, so no jail can be built.
const (
	sysOpenTree              = 428
	sysMoveMount             = 429
	sysFsopen                = 430
	sysFsconfig              = 431
	sysFsmount               = 432
	sysCloseRange            = 436
	sysOpenat2               = 437
	sysMountSetattr          = 442
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

// Files and descriptors.
const (
	atFdcwd     = -0x64
	atEmptyPath = 0x1000
	atRecursive = 0x8000
	oPath       = 0x200000

	resolveNoMagiclinks = 0x2
	resolveNoSymlinks   = 0x4

	closeRangeCloexec = 0x4
	allDescriptors    = 1<<32 - 1
	pipefsMagic       = 0x50495045
	statxMntID        = 0x1000
)

// Mounts.
const (
	openTreeClone       = 0x1
	openTreeCloexec     = syscall.O_CLOEXEC
	moveMountFEmptyPath = 0x4
	moveMountTEmptyPath = 0x40

	fsopenCloexec     = 0x1
	fsmountCloexec    = 0x1
	fsconfigSetString = 0x1
	fsconfigCmdCreate = 0x6

	mountAttrRdonly = 0x1
	mountAttrNosuid = 0x2
	mountAttrNodev  = 0x4
	mountAttrNoexec = 0x8
	mountAttrIdmap  = 0x100000
)

// Processes and their rights.
const (
	cloneNamespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
		syscall.CLONE_NEWCGROUP

	prSetDumpable        = 4
	prCapbsetDrop        = 24
	prSetSecurebits      = 28
	prSetNoNewPrivs      = 38
	prCapAmbient         = 47
	prCapAmbientClearAll = 4

	capabilityVersion3 = 0x20080522
	capSetgid          = 6
	capSetuid          = 7
	capSetpcap         = 8
	capNetBindService  = 10
	capNetAdmin        = 12
	capSysAdmin        = 21

	keyctlJoinSession = 1

	seccompSetFilter = 1
	sizeofSockFilter = 8

	landlockPathBelow = 1
	landlockExecute   = 1 << 0
	landlockWriteFile = 1 << 1
	landlockReadFile  = 1 << 2
	landlockTruncate  = 1 << 14
	landlockIoctlDev  = 1 << 15
)

// Signals.
const (
	sigDefault      = 0
	sigIgnore       = 1
	sizeofSignalSet = 8
)

// mountAttr is struct mount_attr.
type mountAttr struct{ set, clear, propagation, userns uint64 }

// statx is struct statx, with only the id of the mount named.
type statx struct {
	mask  uint32
	_     [140]byte
	mount uint64
	_     [104]byte
}

// openHow is struct open_how.
type openHow struct{ flags, mode, resolve uint64 }

// rulesetAttr is struct landlock_ruleset_attr.
type rulesetAttr struct{ files, net, scoped uint64 }

// pathAttr is struct landlock_path_beneath_attr, which ends with the descriptor.
type pathAttr struct {
	rights uint64
	parent int32
}

// capHeader and capData are struct __user_cap_header_struct and __user_cap_data_struct. Version 3
// has two of the latter.
type (
	capHeader struct {
		version uint32
		pid     int32
	}
	capData struct {
		effective uint32
		_         [2]uint32 // permitted and inheritable
	}
)

// value returns the result of a system call.
func value(n, _ uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// done returns the error of a system call whose result is not needed.
func done(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// is reports whether an error is the given error number.
func is(err error, errno syscall.Errno) bool {
	return err == errno //nolint:errorlint // an Errno, straight from the system call
}

// openTreeAt copies the mounts at a path relative to dir, as mounts that are attached nowhere.
func openTreeAt(dir int, path string, flags uintptr) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	return value(syscall.Syscall(sysOpenTree, uintptr(dir), uintptr(unsafe.Pointer(p)), flags))
}

// moveMount attaches a mount to a path relative to dir, or to dir itself if the path is empty.
func moveMount(tree, dir int, path string) error {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	var none byte
	flags := uintptr(moveMountFEmptyPath)
	if path == "" {
		flags |= moveMountTEmptyPath
	}
	return done(syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&none)), uintptr(dir),
		uintptr(unsafe.Pointer(p)), flags, 0))
}

// setMount changes the attributes of the mount that a descriptor refers to.
func setMount(tree int, flags uintptr, attr *mountAttr) error {
	var none byte
	return done(syscall.Syscall6(sysMountSetattr, uintptr(tree), uintptr(unsafe.Pointer(&none)), atEmptyPath|flags,
		uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0))
}

func fsopen(kind string) (int, error) {
	p, err := syscall.BytePtrFromString(kind)
	if err != nil {
		return -1, err
	}
	return value(syscall.Syscall(sysFsopen, uintptr(unsafe.Pointer(p)), fsopenCloexec, 0))
}

func fsconfig(fs int, key, val string) error {
	k, err := syscall.BytePtrFromString(key)
	if err != nil {
		return err
	}
	v, err := syscall.BytePtrFromString(val)
	if err != nil {
		return err
	}
	return done(syscall.Syscall6(sysFsconfig, uintptr(fs), fsconfigSetString, uintptr(unsafe.Pointer(k)),
		uintptr(unsafe.Pointer(v)), 0, 0))
}

func fscreate(fs int) error {
	return done(syscall.Syscall6(sysFsconfig, uintptr(fs), fsconfigCmdCreate, 0, 0, 0, 0))
}

func fsmount(fs int, attr uintptr) (int, error) {
	return value(syscall.Syscall(sysFsmount, uintptr(fs), fsmountCloexec, attr))
}

func openat2(dir int, path string, how *openHow) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	return value(syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(how)),
		unsafe.Sizeof(*how), 0, 0))
}

// mountID returns the id of the mount through which a file was opened.
func mountID(fd int) (uint64, error) {
	var none byte
	var stat statx
	err := done(syscall.Syscall6(sysStatx, uintptr(fd), uintptr(unsafe.Pointer(&none)), atEmptyPath, statxMntID, uintptr(unsafe.Pointer(&stat)), 0))
	if err == nil && stat.mask&statxMntID == 0 {
		err = syscall.ENOSYS // the kernel does not report it
	}
	return stat.mount, err
}

func symlinkat(target string, dir int, name string) error {
	t, err := syscall.BytePtrFromString(target)
	if err != nil {
		return err
	}
	n, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return done(syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(t)), uintptr(dir), uintptr(unsafe.Pointer(n))))
}

// closeOnExec makes exec close the descriptor first and all higher ones.
func closeOnExec(first int) {
	_, _, _ = syscall.RawSyscall(sysCloseRange, uintptr(first), allDescriptors, closeRangeCloexec)
}

// keepOnExec lets a descriptor stay open across exec.
func keepOnExec(fd int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0)
}

func prctl(option, arg uintptr) error {
	return done(syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0))
}

func capget(data *[2]capData) error {
	header := capHeader{version: capabilityVersion3}
	return done(syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(data)), 0))
}

func capset(data *[2]capData) error {
	header := capHeader{version: capabilityVersion3}
	return done(syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(data)), 0))
}

// joinKeyring replaces the session keyring with a new one.
func joinKeyring() error {
	return done(syscall.RawSyscall(syscall.SYS_KEYCTL, keyctlJoinSession, 0, 0))
}

// setFilter installs a seccomp filter on this thread.
func setFilter(filter []byte) error {
	program := struct {
		length uint16
		filter *byte
	}{uint16(len(filter) / sizeofSockFilter), &filter[0]}
	return done(syscall.Syscall(sysSeccomp, seccompSetFilter, 0, uintptr(unsafe.Pointer(&program))))
}

func landlockRuleset(attr *rulesetAttr) (int, error) {
	return value(syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0))
}

func landlockRule(rules int, attr *pathAttr) error {
	return done(syscall.Syscall6(sysLandlockAddRule, uintptr(rules), landlockPathBelow, uintptr(unsafe.Pointer(attr)), 0, 0, 0))
}

func landlockRestrict(rules int) error {
	return done(syscall.Syscall(sysLandlockRestrictSelf, uintptr(rules), 0, 0))
}

// setSignal sets the action of a signal to the default or to ignoring it, bypassing Go's runtime.
// The runtime would ignore some signals that end other programs, and for others print its stacks
// and exit with 2.
func setSignal(s syscall.Signal, action uint64) {
	act := [4]uint64{action} // the first field of the kernel's struct sigaction; no flags and no mask
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, sizeofSignalSet, 0, 0)
}

// duplicate returns another descriptor of the same file.
func duplicate(fd int) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
