package limits

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// An Rlimit is one limit of a process in the kernel's form, for prlimit(2).
type Rlimit struct {
	Resource int // unix.RLIMIT_…
	Cur, Max uint64
}

// Rlimits returns the limits that the kernel can enforce without a cgroup. running is the number of
// processes and threads that the user already has, because the kernel counts those. If it is
// negative, the limit of processes is left out.
//
// Memory becomes RLIMIT_DATA, which counts private writable memory. RLIMIT_AS counts address space,
// of which runtimes reserve a lot: with 512 MiB of it neither Node 20 nor a Go program starts. With
// 64 MiB of RLIMIT_DATA both start, as do Python and bash, and all four are refused a gigabyte.
// RLIMIT_DATA does not count shared memory. It counts the whole stack of each thread (8 MiB in most
// C programs), used or not.
func (l Limits) Rlimits(running int) []Rlimit {
	var list []Rlimit
	add := func(resource int, cur, max uint64) { list = append(list, Rlimit{resource, cur, max}) }
	if l.Memory > 0 {
		add(unix.RLIMIT_DATA, uint64(l.Memory), uint64(l.Memory))
	}
	if l.Processes > 0 && running >= 0 {
		n := uint64(running + l.Processes)
		add(unix.RLIMIT_NPROC, n, n)
	}
	if l.Files > 0 {
		add(unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files))
	}
	if l.CPU > 0 {
		add(unix.RLIMIT_CPU, l.cpuSeconds(), l.cpuSeconds()+1)
	}
	return list
}

// setRlimits sets limits on a process, none of them higher than it is now.
func setRlimits(pid int, list []Rlimit) error {
	for _, r := range list {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, r.Resource, nil, &now); err != nil {
			return fmt.Errorf("read resource limit %d: %w", r.Resource, err)
		}
		limit := unix.Rlimit{Cur: min(r.Cur, now.Cur), Max: min(r.Max, now.Max)}
		if err := unix.Prlimit(pid, r.Resource, &limit, nil); err != nil {
			return fmt.Errorf("set resource limit %d: %w", r.Resource, err)
		}
	}
	return nil
}

// Supported returns what enforces each limit here. It changes nothing.
func Supported() Support {
	tree, err := findCgroup("/", os.Getpid())
	return support(tree, err, nprocObstacle("/", os.Getuid()))
}

// support returns the Support for a cgroup tree. If there is no tree, noTree says why. If the
// processes of the user cannot be counted, noCount says why.
func support(tree *cgroupTree, noTree, noCount error) Support {
	alone := Enforcement{By: byRlimit, Note: "for each process by itself"}
	s := Support{Memory: Enforcement{By: byCgroup}, Processes: Enforcement{By: byCgroup}, Files: alone, CPU: alone}
	if tree == nil || !tree.memory {
		s.Memory = Enforcement{By: byRlimit, Note: "for each process by itself, shared memory not counted; " + noCgroup(noTree)}
	}
	if tree == nil || !tree.pids {
		s.Processes = Enforcement{By: byRlimit, Note: "counts all processes of this user, also those that other programs start later; " + noCgroup(noTree)}
		if noCount != nil {
			s.Processes = Enforcement{Note: noCount.Error() + "; " + noCgroup(noTree)}
		}
	}
	return s
}

// noCgroup says why a cgroup does not enforce a limit.
func noCgroup(err error) string {
	if err == nil {
		return "no cgroup: this program's cgroup lacks the controller"
	}
	return "no cgroup: " + err.Error()
}

// The ids of the namespaces that the machine starts with (PROC_PID_INIT_INO, PROC_USER_INIT_INO in
// the kernel's proc_ns.h).
const (
	firstPidNamespace  = "pid:[4026531836]"
	firstUserNamespace = "user:[4026531837]"
)

var (
	errNoNprocForRoot  = errors.New("the kernel does not limit how many processes root has")
	errUnseenProcesses = errors.New("processes of this user outside this container count too, and cannot be seen")
)

// nprocObstacle says why RLIMIT_NPROC cannot limit the processes of this user, or returns nil if it
// can. root is the root of the file system.
//
// The kernel compares that limit with all processes of the user on the machine. So a limit of "n
// more than now" requires their current number. In a container they cannot all be seen, unless the
// container has its own user namespace: then the kernel counts them there.
func nprocObstacle(root string, uid int) error {
	if uid == 0 {
		return errNoNprocForRoot
	}
	pids, err := os.Readlink(root + "/proc/self/ns/pid")
	if err != nil {
		return fmt.Errorf("the processes of this user cannot be counted: %w", err)
	}
	users, err := os.Readlink(root + "/proc/self/ns/user")
	if err != nil {
		return fmt.Errorf("the processes of this user cannot be counted: %w", err)
	}
	if pids != firstPidNamespace && users == firstUserNamespace {
		return errUnseenProcesses
	}
	return nil
}

// userTasks counts the processes and threads of a user, as RLIMIT_NPROC does.
func userTasks(root string, uid int) (int, error) {
	entries, err := os.ReadDir(root + "/proc")
	if err != nil {
		return 0, err
	}
	total := 0
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		status, err := os.ReadFile(root + "/proc/" + entry.Name() + "/status")
		if err == nil { // otherwise it has ended meanwhile
			total += tasksOf(string(status), uid)
		}
	}
	return total, nil
}

// tasksOf returns the number of threads in a /proc/PID/status if its real user is uid, otherwise 0.
func tasksOf(status string, uid int) int {
	threads, ours := 0, false
	for line := range strings.Lines(status) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "Uid:":
			ours = fields[1] == strconv.Itoa(uid)
		case "Threads:":
			threads, _ = strconv.Atoi(fields[1]) // the kernel writes a number
		}
	}
	if !ours {
		return 0
	}
	return threads
}
