package jail

import "syscall"

// A program that is linked dynamically is started by its loader, so the loader has to be
// executable. But then it can be started by hand as well, with any program that can be read as its
// argument, and neither Landlock nor seccomp can tell the one from the other. binfmt_misc can: it
// is asked what to do with a file that is executed, and never with one that the kernel opens as a
// loader. Since Linux 6.7 every user namespace can have a list of its own, which then counts for
// all processes in it and in those below.

// nothing is what the kernel is told to start in the stead of a loader. It is there always, and
// never a program.
const nothing = "/"

// bar keeps files that begin with the given bytes from being executed, in this user namespace and
// in those below. The list is as old as its mount: that is attached nowhere, and stays open as long
// as this process lives.
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

// barEntry is an entry of the list. Every byte is escaped, so that none can end the field it is in.
func barEntry(i int, head []byte) []byte {
	const digits = "0123456789abcdef"
	entry := []byte(":loader" + decimal(uint64(i)) + ":M:0:")
	for _, b := range head {
		entry = append(entry, '\\', 'x', digits[b>>4], digits[b&15])
	}
	return append(entry, "::"+nothing+":"...)
}

// between reports whether the list has to be made by a process between outer and inner: its files
// belong to uid 0 of the namespace that it is made in, and an ordinary user can have but one user
// in a namespace. So there are two, one in the other: in the upper one that user is uid 0, in the
// lower one who he is.
func (p *Plan) between(privileged bool) bool {
	return len(p.Loaders) > 0 && p.User != 0 && !privileged
}

// middle is that process. For the rest it does what outer would.
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

// divert starts middle and ends as it ends.
func (s *stage) divert() {
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
	_ = syscall.Close(s.control) // from here on the others report
	status, err := await(middle)
	if err != nil {
		syscall.Exit(1)
	}
	endAs(status)
}
