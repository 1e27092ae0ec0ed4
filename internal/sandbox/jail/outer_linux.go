package jail

import (
	"encoding/json"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is whom the kernel takes a program for whose host is root: no file is his, no limit on processes is waived for
// him. Inside it still is uid 0, as it would be without a jail, and the files it was granted are its own (idmap).
const nobody = 65534

// outer clones inner, hands it what only the host's user can open, and waits.
func (s *stage) outer() {
	plan, err := ReadPlan(s.plan)
	if err != nil {
		s.fail(err)
	}
	if plan.Simple {
		s.become(plan)
	}
	privileged := capable(unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID)
	link, inner, err := s.clone(plan, privileged)
	if err != nil {
		s.fail(while(err, "enter new namespaces"))
	}
	if err := s.supply(plan, link, inner.Pid, privileged); err != nil {
		s.fail(err)
	}
	_ = unix.Close(s.control) // from here on inner alone reports
	status := awaitStatus(link)
	state, err := inner.Wait()
	if status == nil && err == nil { // it was killed, and the program with it
		ended := state.Sys().(syscall.WaitStatus)
		status = &ended
	}
	if status == nil {
		syscall.Exit(1)
	}
	endAs(*status)
}

// clone starts inner in namespaces of its own. The descriptors of the program pass through. link is the socket to it.
func (s *stage) clone(plan *Plan, privileged bool) (link int, inner *os.Process, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	files := make([]*os.File, 0, s.files+6)
	for fd := range 5 + s.files { // the standard ones, the program's, control and plan
		files = append(files, os.NewFile(uintptr(fd), ""))
	}
	files = append(files, os.NewFile(uintptr(pair[1]), ""))
	inner, err = os.StartProcess("/proc/self/exe", []string{Inner, strconv.Itoa(s.files)}, &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: files, Sys: cloneAttr(plan, privileged),
	})
	_ = unix.Close(pair[1])
	return pair[0], inner, err
}

// cloneAttr are the namespaces and who the program is in them.
func cloneAttr(plan *Plan, privileged bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  unix.SIGKILL,
	}
	if !plan.Net.Shared {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	uid, gid := unix.Geteuid(), unix.Getegid()
	if privileged {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: nobody, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: nobody, Size: 1}}
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	} else {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	// Rights within the new namespaces only. They last until inner's one thread gives them up.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}
	return attr
}

// capable reports whether this process has all of the capabilities.
func capable(capabilities ...int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return false
	}
	for _, c := range capabilities {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return false
		}
	}
	return true
}

// supplied announces what outer hands to inner.
type supplied struct {
	Opened bool  // the descriptors that come with this message and the next ones are the plan's binds
	Mounts []int // which of the plan's mounts, in the order of the descriptors
	Last   bool
	Notes  []string
}

// maxRights is how many descriptors a message may carry (SCM_MAX_FD).
const maxRights = 253

// supply opens the plan's mounts with the rights of root and hands them to inner; without those, inner opens them itself.
func (s *stage) supply(plan *Plan, link, pid int, privileged bool) error {
	if !privileged {
		return sendSupplied(link, supplied{Last: true}, nil)
	}
	users, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return while(err, "open the user namespace")
	}
	opened := supplied{Opened: true}
	var fds []int
	for i, m := range plan.Mounts {
		if m.Kind != Bind {
			continue
		}
		tree, note, err := openTree(m, users)
		if err != nil {
			return err
		}
		if note != "" {
			opened.Notes = append(opened.Notes, note)
		}
		if tree < 0 {
			continue
		}
		opened.Mounts, fds = append(opened.Mounts, i), append(fds, tree)
		if len(fds) == maxRights {
			if err := sendSupplied(link, opened, fds); err != nil {
				return err
			}
			opened, fds = supplied{Opened: true}, nil
		}
	}
	opened.Last = true
	return sendSupplied(link, opened, fds)
}

func sendSupplied(link int, m supplied, fds []int) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = sendMessage(link, text, fds)
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return while(err, "hand over mounts")
}

// awaitStatus reads how the program ended, nil where inner ended without a word.
func awaitStatus(link int) *syscall.WaitStatus {
	var text [64]byte
	for {
		n, err := unix.Read(link, text[:])
		if err == unix.EINTR {
			continue
		}
		status, bad := strconv.ParseUint(string(text[:max(n, 0)]), 10, 32)
		if err != nil || bad != nil {
			return nil
		}
		ended := syscall.WaitStatus(status)
		return &ended
	}
}
