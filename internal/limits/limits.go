package limits

import (
	"strconv"
	"time"
)

// Limits bound what a process and all it starts may use. Zero means no limit of ours. How well each
// is kept depends on the system: [Supported] says by what. A limit never loosens one that the host
// itself is under.
type Limits struct {
	// Memory is in bytes. A cgroup counts what the process and all it started really use together,
	// and kills them all when it is too much. Without one, each process has this much private
	// writable memory for itself, and an allocation beyond it is refused.
	Memory int64

	// Processes is how many processes and threads there may be at a time, the first one included.
	// Another is refused.
	Processes int

	// Files is how many descriptors each process may have open at a time. Another is refused.
	Files int

	// CPU is the processor time that each process may use in its whole life, rounded up to seconds.
	// Then it gets SIGXCPU, and SIGKILL a second later.
	CPU time.Duration
}

// What a limit is enforced by.
const (
	byCgroup = "cgroup"
	byRlimit = "rlimit"
)

// Enforcement is what keeps one limit.
type Enforcement struct {
	By   string // "cgroup" or "rlimit"; empty: nothing does
	Note string // why nothing does, or what the limit does not see; may be empty
}

// Support is what keeps each of the [Limits] on this system.
type Support struct {
	Memory    Enforcement
	Processes Enforcement
	Files     Enforcement
	CPU       Enforcement
}

// Ending is what is known of a process that has ended.
type Ending struct {
	Signal string        // the signal that ended it, "SIGKILL"; empty on a normal exit
	CPU    time.Duration // what it used, with those of its children that it waited for
	ByHost bool          // the host sent SIGKILL

	outOfMemory bool // its cgroup ran out of memory and killed it
}

// exceeded says which limit a process was killed for. That the kernel killed it for its processor
// time is only told by the first of the two signals. The second, for programs that do not mind the
// first (every Go program), is concluded from the time used; it includes children that were waited
// for, so that this can be wrong where somebody else sent SIGKILL.
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

// cpuSeconds is the limit as the kernel counts it: in whole seconds, a part of one is one.
func (l Limits) cpuSeconds() uint64 {
	return uint64((l.CPU + time.Second - 1) / time.Second)
}

// size is a number of bytes in the largest unit that divides it.
func size(bytes int64) string {
	units := []string{" bytes", " KiB", " MiB", " GiB", " TiB"}
	for bytes != 0 && bytes%1024 == 0 && len(units) > 1 {
		bytes, units = bytes/1024, units[1:]
	}
	return strconv.FormatInt(bytes, 10) + units[0]
}
