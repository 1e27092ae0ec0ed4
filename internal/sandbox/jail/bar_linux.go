package jail

import "syscall"

// A dynamically linked program is started by its loader, so the loader must be executable. But then
// a plugin can also start the loader directly, with any readable program as its argument. Landlock
// and seccomp cannot distinguish the two cases. binfmt_misc can: the kernel consults it for a file
// that is executed, but not for a file that it opens as a loader. Since Linux 6.7 each user
// namespace can have its own list of formats, which applies to all processes in it and in the
// namespaces below.

// notAProgram is the interpreter that the kernel is given for a loader. The path always exists and
// is never a program, so that the start fails.
const notAProgram = "/"

// bar keeps files that begin with the given bytes from being executed, in this user namespace and
// in those below. The list lasts as long as its mount. The mount is attached nowhere, and its
// descriptor stays open until this process ends.
func bar(loaders [][]byte) error {
	if len(loaders) == 0 {
		return nil
	}
	list, err := newMount("binfmt_misc", mountAttrNoexec)
	if err != nil {
		return err
	}
	register, err := syscall.Openat(list, "register", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(register)
	for i, head := range loaders {
		if _, err := syscall.Write(register, barEntry(i, head)); err != nil {
			return err
		}
	}
	return nil
}

// barEntry returns one entry of the list. It escapes every byte, so that none can end the field.
func barEntry(i int, head []byte) []byte {
	const digits = "0123456789abcdef"
	entry := []byte(":loader" + decimal(uint64(i)) + ":M:0:")
	for _, b := range head {
		entry = append(entry, '\\', 'x', digits[b>>4], digits[b&15])
	}
	return append(entry, "::"+notAProgram+":"...)
}

// needsMiddle reports whether a process between outer and inner must write the list. The files of
// the list belong to uid 0 of the namespace, and an ordinary user can map only one uid into a
// namespace. So there are two nested namespaces: in the upper one the user is uid 0, in the lower
// one the user keeps the uid of the host.
func (p *Plan) needsMiddle(privileged bool) bool {
	return len(p.Loaders) > 0 && p.User != 0 && !privileged
}

// middle runs between outer and inner. It bars the loaders and then does the work of outer.
func (s *stage) middle() {
	ignoreSignals()
	plan, err := s.readPlan()
	if err != nil {
		s.fail(err)
	}
	if err := bar(plan.Loaders); err != nil {
		s.fail(while(err, StageBar))
	}
	s.confine(plan, false)
}

// runMiddle starts middle and ends as it ends.
func (s *stage) runMiddle() {
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	middle, _, err := syscall.StartProcess("/proc/self/exe", []string{Middle}, &syscall.ProcAttr{
		Dir: "/", Env: Environ(Middle, s.files), Files: descriptors(5 + s.files),
		Sys: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
		},
	})
	if err != nil {
		s.fail(while(err, StageBar))
	}
	_ = syscall.Close(s.control) // from here on middle and inner report
	status, err := await(middle)
	if err != nil {
		syscall.Exit(1)
	}
	endAs(status)
}
