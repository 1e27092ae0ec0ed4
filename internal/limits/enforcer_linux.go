package limits

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

// Enforcer keeps one process, and all it starts, within its limits: by rlimits, which are
// inherited, and by a cgroup where the host has one to give. All methods of a nil Enforcer do
// nothing: a process without limits costs nothing.
//
//	Cgroups.Enforcer ─► open                a cgroup of its own, its limits written
//	Attach           ─► born inside it
//	Set              ─► setRlimits          while it is held before its first instruction
//	Check            ─► the start is refused if a limit could not be set
//	Kill             ─► cgroup.kill         with what is left of the process
//	Cgroups.Drop     ─► the cgroup removed  once it is reaped
type Enforcer struct {
	limits  Limits   // all of them
	rest    Limits   // what no cgroup keeps
	rlimits []Rlimit // to be set by us, not by a box
	cgroup  *cgroup  // nil: none
	dir     *os.File // the cgroup, open until the process is born
	err     error    // of setting the limits
}

// Enforcer prepares the limits of a process that is about to be started; nil where it has none. A
// boxed process is one that a sandbox stands around: the sandbox sets [Enforcer.Rest] itself,
// inside.
func (s *Cgroups) Enforcer(l Limits, boxed bool, log *slog.Logger) (*Enforcer, error) {
	if l == (Limits{}) {
		return nil, nil
	}
	e := &Enforcer{limits: l, rest: l}
	if l.Memory > 0 || l.Processes > 0 {
		if err := s.enclose(e, boxed, log); err != nil {
			return nil, fmt.Errorf("its cgroup cannot be made: %w", err)
		}
	}
	if boxed {
		return e, nil // the sandbox's own processes are not to be limited
	}
	running, err := alreadyRunning(e.rest)
	if err != nil {
		e.Abandon()
		return nil, fmt.Errorf("the processes of this user cannot be counted: %w", err)
	}
	e.rlimits = e.rest.Rlimits(running)
	return e, nil
}

// alreadyRunning is what the kernel will add to the processes of a plugin before it compares them
// with the limit; -1 where there is no limit, or none that it would keep.
func alreadyRunning(l Limits) (int, error) {
	if l.Processes <= 0 || nprocObstacle("/", os.Getuid()) != nil {
		return -1, nil
	}
	return userTasks("/", os.Getuid())
}

// Rest returns which of all limits are left for a sandbox to set.
func (e *Enforcer) Rest(all Limits) Limits {
	if e == nil {
		return all
	}
	return e.rest
}

// Attach has the process born inside its cgroup.
func (e *Enforcer) Attach(attr *syscall.SysProcAttr) {
	if e != nil && e.dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(e.dir.Fd())
	}
}

// Set limits a process that was just born, or kills it: it is still held and must not run without
// its limits.
func (e *Enforcer) Set(pid int) bool {
	if e == nil {
		return true
	}
	if e.err = setRlimits(pid, e.rlimits); e.err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // our own child, not reaped: the number is still its own
	}
	return e.err == nil
}

// Check returns why Set failed, if it did, and reaps the process that it killed.
func (e *Enforcer) Check(p *os.Process) error {
	if e == nil {
		return nil
	}
	if e.dir != nil {
		_ = e.dir.Close()
		e.dir = nil
	}
	if e.err != nil {
		_, _ = p.Wait()
	}
	return e.err
}

// Abandon removes what was made for a process that was not started.
func (e *Enforcer) Abandon() {
	if e == nil {
		return
	}
	if e.dir != nil {
		_ = e.dir.Close()
	}
	if e.cgroup != nil {
		_ = e.cgroup.remove() // empty, or as good as: what is left in it was killed
	}
}

// Kill kills all that is in the cgroup.
func (e *Enforcer) Kill() {
	if e != nil && e.cgroup != nil {
		_ = e.cgroup.kill() // what remains is seen when it is removed
	}
}

// Exceeded says which limit the process was killed for, if any.
func (e *Enforcer) Exceeded(end Ending) string {
	if e == nil {
		return ""
	}
	end.outOfMemory = e.cgroup != nil && e.cgroup.outOfMemory()
	return e.limits.exceeded(end)
}
