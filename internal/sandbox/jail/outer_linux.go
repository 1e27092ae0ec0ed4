package jail

import "syscall"

// nobody is whom the kernel takes a program for whose host is root: no file is his, no limit on
// processes is waived for him. Inside it still is uid 0, as it would be without a jail, and the
// files it was granted are its own (idmap).
const nobody = 65534

// outer clones inner, hands it what only the host's user can open, and waits.
func (s *stage) outer() {
	plan, err := s.readPlan()
	if err != nil {
		s.fail(err)
	}
	if plan.Simple {
		s.become(plan)
	}
	ignoreSignals()
	privileged := capable(capSysAdmin, capSetuid, capSetgid)
	if privileged {
		s.lendPipes()
	}
	if plan.between(privileged) {
		s.divert()
	}
	s.confine(plan, privileged)
}

// confine has inner carry the plan out, and ends as the program ended.
func (s *stage) confine(plan *Plan, privileged bool) {
	link, inner, err := s.clone(plan, privileged)
	if err != nil {
		s.fail(while(err, "enter new namespaces"))
	}
	if err := s.supply(plan, link, inner, privileged); err != nil {
		s.fail(err)
	}
	_ = syscall.Close(s.control) // from here on inner alone reports
	status, told := awaitStatus(link)
	ended, err := await(inner)
	switch {
	case told:
		endAs(status)
	case err == nil: // it was killed, and the program with it
		endAs(ended)
	}
	syscall.Exit(1)
}

// clone starts inner in namespaces of its own. The descriptors of the program pass through. link is
// the socket to it.
func (s *stage) clone(plan *Plan, privileged bool) (link, inner int, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	files := append(descriptors(5+s.files), uintptr(pair[1])) // the standard ones, the program's, control and plan; then the link
	inner, _, err = syscall.StartProcess("/proc/self/exe", []string{Inner}, &syscall.ProcAttr{
		Dir: "/", Env: Environ(Inner, s.files), Files: files, Sys: cloneAttr(plan, privileged),
	})
	_ = syscall.Close(pair[1])
	return pair[0], inner, err
}

// lendPipes makes the pipes that the program begins with its own, so that it can open them by name:
// /dev/stdout. A pipe that has a name in a file system stays whose it is.
func (s *stage) lendPipes() {
	for fd := range 3 + s.files {
		var stat syscall.Statfs_t
		if syscall.Fstatfs(fd, &stat) == nil && stat.Type == pipefsMagic {
			_ = syscall.Fchown(fd, nobody, nobody) // where it cannot be, only that does not work
		}
	}
}

// descriptors are the first so many.
func descriptors(n int) []uintptr {
	files := make([]uintptr, n)
	for i := range files {
		files[i] = uintptr(i)
	}
	return files
}

// cloneAttr are the namespaces and who the program is in them.
func cloneAttr(plan *Plan, privileged bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: cloneNamespaces, Pdeathsig: syscall.SIGKILL}
	if !plan.Net.Shared {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	if privileged {
		uid, gid = nobody, nobody
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(plan.User), Gid: uint32(plan.Group)}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: plan.User, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: plan.Group, HostID: gid, Size: 1}}
	// Rights within the new namespaces only. They last until inner's one thread gives them up.
	attr.AmbientCaps = []uintptr{capSysAdmin, capNetAdmin, capNetBindService, capSetpcap}
	return attr
}

// capable reports whether this process has all of the capabilities, which are among the first 32.
func capable(capabilities ...int) bool {
	var data [2]capData
	if capget(&data) != nil {
		return false
	}
	for _, c := range capabilities {
		if data[0].effective&(1<<c) == 0 {
			return false
		}
	}
	return true
}

// maxRights is how many descriptors a message may carry (SCM_MAX_FD).
const maxRights = 253

// supply opens the plan's mounts with the rights of root and hands them to inner; without those,
// inner opens them itself.
func (s *stage) supply(plan *Plan, link, inner int, privileged bool) error {
	if !privileged {
		return sendSupplied(link, supplied{last: true}, nil)
	}
	users, err := syscall.Open("/proc/"+decimal(uint64(inner))+"/ns/user", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return while(err, "open the user namespace")
	}
	next := supplied{opened: true}
	var fds []int
	for i := range plan.Mounts {
		tree, note, err := openTree(&plan.Mounts[i], users)
		if err != nil {
			return err
		}
		if note != "" {
			next.notes = append(next.notes, note)
		}
		if tree < 0 {
			continue
		}
		next.mounts, fds = append(next.mounts, i), append(fds, tree)
		if len(fds) == maxRights {
			if err := sendSupplied(link, next, fds); err != nil {
				return err
			}
			next, fds = supplied{opened: true}, nil
		}
	}
	next.last = true
	return sendSupplied(link, next, fds)
}

func sendSupplied(link int, m supplied, fds []int) error {
	err := sendMessage(link, encode(&m), fds)
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
	return while(err, "hand over mounts")
}

// awaitStatus reads how the program ended. Where inner ended without a word, it was not told.
func awaitStatus(link int) (status syscall.WaitStatus, told bool) {
	var data [64]byte
	for {
		n, err := syscall.Read(link, data[:])
		if is(err, syscall.EINTR) {
			continue
		}
		var e ended
		told = err == nil && decode(data[:n], &e)
		return syscall.WaitStatus(e.status), told
	}
}

// await waits for the end of a child.
func await(child int) (status syscall.WaitStatus, err error) {
	for {
		_, err = syscall.Wait4(child, &status, 0, nil)
		if !is(err, syscall.EINTR) {
			return status, err
		}
	}
}
