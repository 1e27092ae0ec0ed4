package metrics

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Process adds metrics of the program's process.
func (r *Registry) Process() {
	r.Observe(Counted, "process_cpu_seconds_total", "Processor time used, in seconds.", nil, func(show Show) { show(cpuSeconds()) })
	r.measure("process_open_fds", "File descriptors in use.", openFiles)
	r.measure("process_max_fds", "Maximum number of file descriptors.", func() float64 { return maxFiles() })
	r.measure("process_virtual_memory_bytes", "Virtual memory in bytes.", func() float64 { return float64(statField(vsizeField)) })
	r.measure("process_resident_memory_bytes", "Resident memory in bytes.", func() float64 { return float64(statField(rssField) * os.Getpagesize()) })
	r.measure("process_start_time_seconds", "When the process began, since 1970.", startTime)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func openFiles() float64 {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return float64(len(list) - 1) // one of them was opened to read the list
}

func maxFiles() float64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return float64(l.Cur)
}

// Indexes of fields in /proc/self/stat, counted from the one after the name.
const (
	startField = 19
	vsizeField = 20
	rssField   = 21
)

// statField returns a field, or 0 if it cannot be read.
func statField(i int) int {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:]) // the name may contain anything
	fields := strings.Fields(rest)
	if i >= len(fields) {
		return 0
	}
	n, _ := strconv.Atoi(fields[i])
	return n
}

// ticks is the number of clock ticks in a second that the kernel reports to programs.
const ticks = 100

// startTime returns when the process was started: the boot time and the ticks since then.
func startTime() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	boot, _ := strconv.ParseFloat(line, 64)
	return boot + float64(statField(startField))/ticks
}
