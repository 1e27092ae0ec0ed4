package proc

import (
	"fmt"
	"os"
	"syscall"
)

// leash keeps one process, and all it starts, within its limits: by rlimits, which are inherited, and by a cgroup
// where the host has one to give. All methods of a nil leash do nothing: a process without limits costs nothing.
//
//	leashFor ─► cgroups.open        a cgroup of its own, its limits written
//	attach   ─► born inside it
//	set      ─► SetLimits           while it is held before its first instruction
//	holds    ─► the start is refused if a limit could not be set
//	kill     ─► cgroup.kill         with what is left of the process
//	drop     ─► the cgroup removed  once it is reaped
type leash struct {
	limits  Limits   // all of them
	rest    Limits   // what no cgroup keeps
	rlimits []Rlimit // to be set by us, not by a box
	cgroup  *cgroup  // nil: none
	dir     *os.File // the cgroup, open until the process is born
	err     error    // of setting the limits
}

// leashFor makes the leash for a process, nil where it has no limits.
func (g *Group) leashFor(s Spec) (*leash, error) {
	if s.Limits == (Limits{}) {
		return nil, nil
	}
	l := &leash{limits: s.Limits, rest: s.Limits}
	if s.Limits.Memory > 0 || s.Limits.Processes > 0 {
		if err := g.cgroups.enclose(l, s.Box != nil, g.log); err != nil {
			return nil, fmt.Errorf("its cgroup cannot be made: %w", err)
		}
	}
	if s.Box != nil {
		return l, nil // it sets what is left itself, inside: its own processes are not to be limited
	}
	running, err := alreadyRunning(l.rest)
	if err != nil {
		l.abandon()
		return nil, fmt.Errorf("the processes of this user cannot be counted: %w", err)
	}
	l.rlimits = l.rest.Rlimits(running)
	return l, nil
}

// alreadyRunning is what the kernel will add to the processes of a plugin before it compares them with the limit; -1
// where there is no limit, or none that it would keep.
func alreadyRunning(l Limits) (int, error) {
	if l.Processes <= 0 || nprocObstacle("/", os.Getuid()) != nil {
		return -1, nil
	}
	return userTasks("/", os.Getuid())
}

// inner is what is left to be limited by a box.
func (l *leash) inner(all Limits) Limits {
	if l == nil {
		return all
	}
	return l.rest
}

// attach has the process born inside its cgroup.
func (l *leash) attach(attr *syscall.SysProcAttr) {
	if l != nil && l.dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(l.dir.Fd())
	}
}

// set limits a process that was just born, or kills it: it is still held and must not run without its limits.
func (l *leash) set(pid int) bool {
	if l == nil {
		return true
	}
	if l.err = SetLimits(pid, l.rlimits); l.err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // our own child, not reaped: the number is still its own
	}
	return l.err == nil
}

// holds reports whether the limits were set, and reaps the process where they were not; file is its program.
func (l *leash) holds(p *os.Process, file string) error {
	if l == nil {
		return nil
	}
	if l.dir != nil {
		_ = l.dir.Close()
		l.dir = nil
	}
	if l.err == nil {
		return nil
	}
	_, _ = p.Wait()
	return &StartError{Path: file, Why: "its limits cannot be set: " + l.err.Error(), Err: l.err}
}

// abandon removes what was made for a process that was not started.
func (l *leash) abandon() {
	if l == nil {
		return
	}
	if l.dir != nil {
		_ = l.dir.Close()
	}
	if l.cgroup != nil {
		_ = l.cgroup.remove() // empty, or as good as: what is left in it was killed
	}
}

// kill kills all that is in the cgroup.
func (l *leash) kill() {
	if l != nil && l.cgroup != nil {
		_ = l.cgroup.kill() // what remains is seen when it is removed
	}
}

// exceeded says which limit the process was killed for, if any.
func (l *leash) exceeded(e ending) string {
	if l == nil {
		return ""
	}
	e.outOfMemory = l.cgroup != nil && l.cgroup.outOfMemory()
	return l.limits.exceeded(e)
}
