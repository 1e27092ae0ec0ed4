package doors

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

// processes lists the processes there are.
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

// nameOf is a process's argv[0]. It is empty for one that is about to end, and for threads of the
// kernel.
func nameOf(pid int) (string, error) {
	text, err := readStart(pid, "cmdline")
	name, _, _ := bytes.Cut(text, []byte{0})
	return string(name), err
}

// isJail reports whether a process of that name is one of package jail's. A plugin can call itself
// so, which changes nothing: what it starts is inside already.
func isJail(name string) bool { return name == jail.Outer || name == jail.Middle || name == jail.Inner }

// A status is what /proc/PID/stat has of a process.
type status struct {
	state  byte
	parent int
	kernel bool // it is a thread of the kernel's
}

// statusOf reads "pid (name) state ppid pgrp session tty tpgid flags …", in which the name may hold
// anything, parentheses too.
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

// readStart reads the beginning of a file of /proc/PID; what is asked for is within.
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

// isGone tells the errors of a process that has ended.
func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// isHidden tells the errors of a process that is known to exist and that we may not look at: /proc
// can be mounted so that users see no processes but their own (hidepid), in part or not at all. The
// jails of our own user are never hidden from us.
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
// the first process of a sandbox, or of one that has another network.
func jailUser(pid int, network string) (user uint64, ok bool, err error) {
	may, hidden := mayBeInit(pid)
	if !may {
		return 0, false, nil
	}
	// One that is ending has no namespaces any more, though it is still there. Its network is then
	// not known, like that of another user's.
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

// mayBeInit reports whether a process is the first one of a sandbox, or may be. A hidden process
// may be one. So may a process that is ending: it has lost its name already, while the other
// processes of its sandbox may live for another moment. When it is a zombie, they are gone.
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

// holds reports whether a process has a socket among its descriptors. It is false for a process
// whose descriptors we may not see.
func holds(pid int, link string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	file, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer file.Close()
	names, _ := file.Readdirnames(-1) // an error leaves the names read so far
	return slices.ContainsFunc(names, func(name string) bool {
		to, err := os.Readlink(dir + "/" + name)
		return err == nil && to == link
	})
}
