package daemonaccess

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// processes returns the pids of all processes.
func processes() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// nameOf returns the argv[0] of a process. It is empty for a process that is about to end, and for
// kernel threads.
func nameOf(pid int) (string, error) {
	text, err := readStart(pid, "cmdline")
	name, _, _ := bytes.Cut(text, []byte{0})
	return string(name), err
}

// isJail reports whether a process with that name belongs to package jail. If a plugin gives itself
// that name, nothing changes: the processes that it starts are already inside.
func isJail(name string) bool { return name == jail.Outer || name == jail.Middle || name == jail.Inner }

// A status holds fields of /proc/PID/stat.
type status struct {
	state  byte
	parent int
	kernel bool // it is a kernel thread
}

// statusOf parses "pid (name) state ppid pgrp session tty tpgid flags …". The name may contain
// anything, even parentheses.
func statusOf(pid int) (status, error) {
	const state, parent, flags, isKernel = 0, 1, 6, 0x00200000 // PF_KTHREAD of the kernel's sched.h
	text, err := readStart(pid, "stat")
	if err != nil {
		return status{}, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= flags {
		return status{}, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	if err != nil {
		return status{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	bits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return status{state: fields[state][0], parent: ppid, kernel: bits&isKernel != 0}, err
}

// readStart reads the beginning of a file of /proc/PID, which contains all that is needed.
func readStart(pid int, name string) ([]byte, error) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, 512)
	n, err := file.Read(text)
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// isGone reports whether an error means that a process has ended.
func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// isHidden reports whether an error can mean that a process exists, but this user may not inspect
// it: /proc can be mounted so that users see other users' processes only in part or not at all
// (hidepid). With hidepid=2 a hidden process gives the same error as a process that has ended. The
// jails of the server's own user are never hidden from it.
func isHidden(err error) bool { return isGone(err) || errors.Is(err, os.ErrPermission) }

// jails returns the users of the sandboxes that share this process's network, or may share it. If
// this process runs in a sandbox itself, that one does not count.
func jails(pids []int, own map[int]bool) (users []uint64, err error) {
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if own[pid] {
			continue
		}
		user, ok, err := jailUser(pid, network)
		if err != nil {
			return nil, err
		}
		if ok {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// jailUser returns the user of the sandbox whose first process this is. ok is false if it is not
// the first process of a sandbox, or if its sandbox has another network.
func jailUser(pid int, network string) (user uint64, ok bool, err error) {
	may, hidden := mayBeInit(pid)
	if !may {
		return 0, false, nil
	}
	// A process that is ending has no namespaces any more, although it still exists. Then its
	// network is not known, as for a process of another user.
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err == nil && theirs != network {
		return 0, false, nil
	}
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if isGone(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	user = uint64(info.Sys().(*syscall.Stat_t).Uid)
	return user, !hidden || user != uint64(os.Geteuid()), nil
}

// mayBeInit reports whether a process is, or may be, the first one of a sandbox. A hidden process
// may be one. So may a process that is ending: it has already lost its name, while the other
// processes of its sandbox may run for another moment. When it is a zombie, they have ended.
func mayBeInit(pid int) (may, hidden bool) {
	name, err := nameOf(pid)
	if err == nil && name != "" {
		return name == jail.Inner, false
	}
	var s status
	if err == nil {
		s, err = statusOf(pid)
	}
	if err != nil {
		return !isGone(err), isHidden(err)
	}
	return !s.kernel && s.state != 'Z' && s.state != 'X', false
}

// holds reports whether a process has a socket among its descriptors. It returns false for a
// process whose descriptors this user may not see.
func holds(pid int, link string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	file, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer file.Close()
	names, _ := file.Readdirnames(-1) // after an error, names has those read so far
	return slices.ContainsFunc(names, func(name string) bool {
		to, err := os.Readlink(dir + "/" + name)
		return err == nil && to == link
	})
}
