package lease

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineID identifies this boot of this machine as this process sees it. Process ids are valid
// within one pid namespace, and start times within one time namespace. It returns "" if /proc is
// not usable.
func machineID() string {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return "" // no /proc, or that of another namespace
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	times, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		times = "time" // before Linux 5.6 there is only one
	}
	return strings.TrimSpace(string(boot)) + " " + pids + " " + times
}

// exists asks the kernel and not /proc, which may hide the processes of other users.
func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// startTime returns when a process began, in ticks since boot, or 0 if that cannot be read. ended
// reports that the process is a zombie.
func startTime(pid int) (start uint64, ended bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	return parseStat(text)
}

// parseStat parses /proc/PID/stat: "pid (name) state …". The name may contain anything, also
// parentheses. Counted from the state, the number of threads is the eighteenth field and the start
// time the twentieth: see proc(5). A process whose first thread has ended looks like a zombie, but
// has other threads.
func parseStat(text []byte) (start uint64, ended bool) {
	const state, threads, began = 0, 17, 19
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= began {
		return 0, false
	}
	start, err := strconv.ParseUint(string(fields[began]), 10, 64)
	if err != nil {
		return 0, false
	}
	over := fields[state][0] == 'Z' || fields[state][0] == 'X'
	return start, over && len(fields[threads]) == 1 && fields[threads][0] <= '1'
}
