package limits

import (
	"strconv"
	"time"
)

// Limits bound the resources of a process and all processes that it starts. Zero means no limit.
// How well each is enforced depends on the system: see [Supported]. A limit never raises one that
// the host itself has.
type Limits struct {
	// Memory is in bytes. A cgroup counts the memory that the process and all its descendants
	// really use together, and kills them all if it is too much. Without a cgroup each process may
	// have this much private writable memory, and an allocation beyond it is refused.
	Memory int64

	// Processes is the number of processes and threads at a time, including the first one. Another
	// is refused.
	Processes int

	// Files is the number of descriptors that each process may have open at a time. Another is
	// refused.
	Files int

	// CPU is the processor time that each process may use in its whole life, rounded up to seconds.
	// Then it gets SIGXCPU, and SIGKILL a second later.
	CPU time.Duration
}

// The mechanisms that enforce a limit.
const (
	byCgroup = "cgroup"
	byRlimit = "rlimit"
)

// An Enforcement says what enforces one limit.
type Enforcement struct {
	By   string // "cgroup" or "rlimit"; empty if nothing does
	Note string // why nothing does, or what the limit does not cover; may be empty
}

// Support says what enforces each of the [Limits] on this system.
type Support struct {
	Memory    Enforcement
	Processes Enforcement
	Files     Enforcement
	CPU       Enforcement
}

// An Ending holds what is known of a process that has ended.
type Ending struct {
	Signal string        // the signal that ended it, such as "SIGKILL"; empty after a normal exit
	CPU    time.Duration // the time that it used, with the children that it waited for
	ByHost bool          // the host sent SIGKILL

	outOfMemory bool // its cgroup ran out of memory and killed it
}

// exceeded returns the limit for which a process was killed. Only SIGXCPU shows that the kernel
// killed it for its processor time. Programs that ignore SIGXCPU, as every Go program does, get
// SIGKILL, and the reason is then derived from the time used. That time includes children that were
// waited for, so the result can be wrong if another process sent SIGKILL.
func (l Limits) exceeded(e Ending) string {
	killed := e.Signal == "SIGKILL"
	switch {
	case killed && l.Memory > 0 && e.outOfMemory:
		return "over its memory of " + size(l.Memory)
	case l.CPU > 0 && e.Signal == "SIGXCPU",
		l.CPU > 0 && killed && !e.ByHost && e.CPU >= l.CPU:
		return "over its CPU time of " + (time.Duration(l.cpuSeconds()) * time.Second).String()
	}
	return ""
}

// cpuSeconds returns the limit in whole seconds, rounded up, as the kernel counts it.
func (l Limits) cpuSeconds() uint64 {
	return uint64((l.CPU + time.Second - 1) / time.Second)
}

// size formats a number of bytes in the largest unit that divides it.
func size(bytes int64) string {
	units := []string{" bytes", " KiB", " MiB", " GiB", " TiB"}
	for bytes != 0 && bytes%1024 == 0 && len(units) > 1 {
		bytes, units = bytes/1024, units[1:]
	}
	return strconv.FormatInt(bytes, 10) + units[0]
}
