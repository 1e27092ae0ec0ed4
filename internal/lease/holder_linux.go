package lease

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineID names this boot of this machine, as this process sees it. Numbers of processes mean
// something within one pid namespace, and start times within one time namespace. "": /proc cannot
// be relied on.
func machineID() string {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return "" // none, or one of another namespace
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
		times = "time" // before Linux 5.6 there is one
	}
	return strings.TrimSpace(string(boot)) + " " + pids + " " + times
}

// exists asks the kernel rather than /proc, which may hide the processes of other users.
func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// startTime is when a process began, in ticks since the boot, 0 where that cannot be read; ended,
// that it has ended and only waits for its parent to notice.
func startTime(pid int) (start uint64, ended bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	return parseStat(text)
}

// parseStat reads /proc/PID/stat: "pid (name) state …", where the name may hold anything,
// parentheses too. From the state on, proc(5) has the number of threads in the eighteenth field and
// the start time in the twentieth. A process whose first thread has ended looks as if it had, but
// has others.
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
