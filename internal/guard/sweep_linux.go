package guard

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kill kills a process through a handle. It reads the mark again after it has opened the handle, so
// that it cannot hit another process that has got the same pid meanwhile.
func kill(pid int, m Mark) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if limit, ok := limitOf(pid); !ok || !m.On(limit) {
		return
	}
	if err == nil {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	} else { // before Linux 5.3, or forbidden, or no descriptor is left
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// processes returns the pids of all processes in ascending order.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // after an error, names has those read so far
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue // Atoi would allocate an error for each
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// limitOf returns a process's RLIMIT_RTTIME. The system call is some thirty times cheaper than
// reading /proc/PID/limits, but it is refused for processes with other user or group ids (ssh-agent
// is setgid). All users can read the file.
func limitOf(pid int) (uint64, bool) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err == nil {
		return limit.Max, true
	}
	return readLimit(pid)
}

func readLimit(pid int) (uint64, bool) {
	text, ok := readProc(pid, "limits")
	if !ok {
		return 0, false
	}
	_, line, _ := bytes.Cut(text, []byte("\nMax realtime timeout"))
	fields := bytes.Fields(line) // soft, hard, unit
	if len(fields) < 2 {
		return 0, false
	}
	limit, err := strconv.ParseUint(string(fields[1]), 10, 64)
	return limit, err == nil // "unlimited" is not a number and not a mark
}

// finished reports whether a process has ended and only waits to be reaped. If only its first
// thread has ended, its state is the same, but it still has other threads.
func finished(pid int) bool {
	text, ok := readProc(pid, "stat")
	if !ok {
		return true
	}
	// The text is "pid (name) state …", and the name may contain anything, even parentheses.
	// Counted from the state, the number of threads is the eighteenth field (proc(5)).
	const state, threads = 0, 17
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= threads {
		return true
	}
	ended := fields[state][0] == 'Z' || fields[state][0] == 'X'
	return ended && len(fields[threads]) == 1 && fields[threads][0] <= '1'
}

// GroupAlive reports whether a process group has a running member. A leader that has ended but is
// not reaped does not count.
func GroupAlive(pgid int) bool {
	for _, pid := range processes() {
		if id, err := unix.Getpgid(pid); err == nil && id == pgid && !finished(pid) {
			return true
		}
	}
	return false
}

// readProc reads a file of /proc/PID that is shorter than 4 KiB.
func readProc(pid int, name string) ([]byte, bool) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	text := make([]byte, 4096)
	n, err := file.Read(text)
	return text[:n], err == nil
}

// Unmark removes an outer host's mark from a guardian. A host that is itself a plugin has such a
// mark, and its guardian inherits it. The guardian would then be killed at the moment when it is
// needed. Any process can lower the limit, and so lose the mark. The host lowers the guardian's
// limit right after starting it. The guardian lowers it too, as soon as it runs, because the host
// may have ended before it could do so.
func Unmark(pid int) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err == nil && limit.Max != unix.RLIM_INFINITY {
		limit.Max /= 2
		limit.Cur = limit.Max
		_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
	}
}

// unmarkAndName removes the mark, and sets the process name, which would otherwise be "exe".
func unmarkAndName() {
	Unmark(0)
	name, err := unix.BytePtrFromString(Name[:15]) // the kernel keeps fifteen bytes
	if err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
}
