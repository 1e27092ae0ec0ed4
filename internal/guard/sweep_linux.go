package guard

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxRounds bounds a sweep. A round kills everything it sees, so more than a few are needed only
// against processes that multiply or that hang in the kernel; with the pauses below, 150 rounds
// last about three seconds.
const maxRounds = 150

// maxPause is the longest wait between two rounds.
const maxPause = 20 * time.Millisecond

// Sweep kills every living process that bears the mark, again and again until two rounds in a row
// find none, and returns how many the last round still found (0, but for processes that SIGKILL
// does not end, e.g. in a hung file system). A process killed cannot fork any more, so each round
// leaves only what was born behind its back.
func Sweep(m Mark) int {
	alive, quiet := 0, 0
	for round := 0; round < maxRounds && quiet < 2; round++ {
		if alive = killMarked(m); alive == 0 {
			quiet++
			continue
		}
		quiet = 0
		time.Sleep(min(time.Duration(round+1)*time.Millisecond, maxPause))
	}
	return alive
}

// killMarked is one round: the newest processes first, since those that flee by forking have the
// highest numbers.
func killMarked(m Mark) int {
	alive := 0
	pids := processes()
	for _, pid := range slices.Backward(pids) {
		if limit, ok := limitOf(pid); ok && m.On(limit) && !finished(pid) && pid != os.Getpid() {
			alive++
			kill(pid, m)
		}
	}
	return alive
}

// kill ends a process by a handle, so that a number given away in between cannot hit a stranger:
// the mark is read again once the handle is open.
func kill(pid int, m Mark) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil { // before Linux 5.3, or forbidden
		_ = unix.Kill(pid, unix.SIGKILL)
		return
	}
	defer unix.Close(fd)
	if limit, ok := limitOf(pid); ok && m.On(limit) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// processes lists the processes there are, by their number.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // an error leaves the names read so far
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// limitOf reads a process's RLIMIT_RTTIME. The system call is some thirty times cheaper than the
// file, but refuses processes with other user or group ids (ssh-agent is setgid); the file is open
// to everyone.
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
	return limit, err == nil // "unlimited" is no number, and no mark
}

// finished reports whether a process has ended and only waits for its parent to notice. One whose
// first thread has ended looks the same, but has others.
func finished(pid int) bool {
	text, ok := readProc(pid, "stat")
	if !ok {
		return true
	}
	// "pid (name) state …", and the name may hold anything, parentheses too. From the state on,
	// proc(5) counts the threads in the eighteenth field.
	const state, threads = 0, 17
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= threads {
		return true
	}
	ended := fields[state][0] == 'Z' || fields[state][0] == 'X'
	return ended && len(fields[threads]) == 1 && fields[threads][0] <= '1'
}

// GroupAlive reports whether a process group has a living member. A leader that has ended but is
// not reaped keeps its number taken without counting as one.
func GroupAlive(pgid int) bool {
	for _, pid := range processes() {
		if id, err := unix.Getpgid(pid); err == nil && id == pgid && !finished(pid) {
			return true
		}
	}
	return false
}

// readProc reads a file of /proc/PID that has less than four KiB.
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

// Unmark takes the mark of a host around ours off a guardian: a host that is itself a plugin bears
// one, its guardian inherits it, and would be swept away at the very moment it is needed. The limit
// can be lowered by anyone. The host does it as soon as there is a guardian, which takes its time
// to start; the guardian itself, in case the host did not live to.
func Unmark(pid int) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err == nil && limit.Max != unix.RLIM_INFINITY {
		limit.Max /= 2
		limit.Cur = limit.Max
		_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &limit, nil)
	}
}

// disguise takes off the mark, and gives the process a name, since it would be shown as "exe".
func disguise() {
	Unmark(0)
	name, err := unix.BytePtrFromString(Name[:15]) // the kernel keeps fifteen bytes
	if err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
	}
}
