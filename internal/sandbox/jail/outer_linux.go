package jail

import "syscall"

// nobodyID is the uid and gid that a program has outside the jail if its host is root. It owns no
// files and is subject to limits on processes. Inside the jail the program still has uid 0, as it
// would without one, and it owns the files that it was granted (idmap).
const nobodyID = 65534

// outer clones inner, passes it the files that only the host's user can open, and waits.
func (s *stage) outer() {
	plan, err := s.readPlan()
	if err != nil {
		s.fail(err)
	}
	if plan.Simple {
		s.execProgram(plan)
	}
	ignoreSignals()
	privileged := capable(capSysAdmin, capSetuid, capSetgid)
	if privileged {
		s.lendPipes()
	}
	if plan.needsMiddle(privileged) {
		s.runMiddle()
	}
	s.confine(plan, privileged)
}

// confine has inner carry out the plan, and then ends as the program ended.
func (s *stage) confine(plan *Plan, privileged bool) {
	link, inner, err := s.clone(plan, privileged)
	if err != nil {
		s.fail(while(err, "enter new namespaces"))
	}
	if err := s.supply(plan, link, inner, privileged); err != nil {
		s.fail(err)
	}
	_ = syscall.Close(s.control) // from here on only inner reports
	status, reported := awaitStatus(link)
	ended, err := await(inner)
	switch {
	case reported:
		endAs(status)
	case err == nil: // inner was killed, and the program with it
		endAs(ended)
	}
	syscall.Exit(1)
}

// clone starts inner in new namespaces and passes the program's descriptors on. link is a socket to
// inner.
func (s *stage) clone(plan *Plan, privileged bool) (link, inner int, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	files := append(descriptors(5+s.files), uintptr(pair[1])) // the standard ones, the program's, control and plan, then the link
	inner, _, err = syscall.StartProcess("/proc/self/exe", []string{Inner}, &syscall.ProcAttr{
		Dir: "/", Env: Environ(Inner, s.files), Files: files, Sys: cloneAttr(plan, privileged),
	})
	_ = syscall.Close(pair[1])
	return pair[0], inner, err
}

// lendPipes changes the owner of the program's pipes, so that the program can open them by name, as
// /dev/stdout. Pipes that have a name in a file system keep their owner.
func (s *stage) lendPipes() {
	for fd := range 3 + s.files {
		var stat syscall.Statfs_t
		if syscall.Fstatfs(fd, &stat) == nil && stat.Type == pipefsMagic {
			_ = syscall.Fchown(fd, nobodyID, nobodyID) // if it fails, only opening by name does not work
		}
	}
}

// descriptors returns the descriptors from 0 to n-1.
func descriptors(n int) []uintptr {
	files := make([]uintptr, n)
	for i := range files {
		files[i] = uintptr(i)
	}
	return files
}

// cloneAttr returns the namespaces to create and the program's ids in them.
func cloneAttr(plan *Plan, privileged bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: cloneNamespaces, Pdeathsig: syscall.SIGKILL}
	if !plan.Net.Shared {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	if privileged {
		uid, gid = nobodyID, nobodyID
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(plan.User), Gid: uint32(plan.Group)}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: plan.User, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: plan.Group, HostID: gid, Size: 1}}
	// These capabilities apply only within the new namespaces. They last until inner's restricted
	// thread drops them.
	attr.AmbientCaps = []uintptr{capSysAdmin, capNetAdmin, capNetBindService, capSetpcap}
	return attr
}

// capable reports whether this process has all of the capabilities. They must be among the first
// 32.
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

// maxRights is the number of descriptors that one message can carry (SCM_MAX_FD).
const maxRights = 253

// supply opens the plan's mounts with the rights of root and sends them to inner. Without these
// rights inner opens them itself.
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

// awaitStatus reads how the program ended. reported is false if inner ended without reporting it.
func awaitStatus(link int) (status syscall.WaitStatus, reported bool) {
	var data [64]byte
	for {
		n, err := syscall.Read(link, data[:])
		if is(err, syscall.EINTR) {
			continue
		}
		var e ended
		reported = err == nil && decode(data[:n], &e)
		return syscall.WaitStatus(e.status), reported
	}
}

// await waits for a child to end.
func await(child int) (status syscall.WaitStatus, err error) {
	for {
		_, err = syscall.Wait4(child, &status, 0, nil)
		if !is(err, syscall.EINTR) {
			return status, err
		}
	}
}
