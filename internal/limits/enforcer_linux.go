package limits

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

// An Enforcer enforces the limits of one process and all processes that it starts: by rlimits,
// which are inherited, and by a cgroup if the host can create one. The methods of a nil Enforcer do
// nothing: a process without limits costs nothing.
//
//	Cgroups.Enforcer ─► open                its own cgroup, with its limits
//	Attach           ─► the process is started inside it
//	Set              ─► setRlimits          while it is held before its first instruction
//	Check            ─► the start is refused if a limit could not be set
//	Kill             ─► cgroup.kill         when the rest of the process is killed
//	Cgroups.Drop     ─► the cgroup removed  when the process is reaped
type Enforcer struct {
	limits  Limits   // all limits of the process
	rest    Limits   // the limits that no cgroup enforces
	rlimits []Rlimit // those that the host sets itself, not a box
	cgroup  *cgroup  // nil if there is none
	dir     *os.File // the cgroup, open until the process is started
	err     error    // the error of setting the limits
}

// Enforcer prepares the limits of a process that is about to be started. It returns nil if there
// are no limits. boxed says that the process runs in a sandbox, which sets [Enforcer.Rest] itself,
// inside.
func (s *Cgroups) Enforcer(l Limits, boxed bool, log *slog.Logger) (*Enforcer, error) {
	if l == (Limits{}) {
		return nil, nil
	}
	e := &Enforcer{limits: l, rest: l}
	if l.Memory > 0 || l.Processes > 0 {
		if err := s.enclose(e, boxed, log); err != nil {
			return nil, fmt.Errorf("its cgroup cannot be created: %w", err)
		}
	}
	if boxed {
		return e, nil // the sandbox's own processes must not be limited
	}
	running, err := alreadyRunning(e.rest)
	if err != nil {
		e.Abandon()
		return nil, fmt.Errorf("the processes of this user cannot be counted: %w", err)
	}
	e.rlimits = e.rest.Rlimits(running)
	return e, nil
}

// alreadyRunning returns the number of processes that the kernel adds to those of a plugin before
// it compares them with the limit. It returns -1 if there is no limit, or if the kernel would not
// enforce it.
func alreadyRunning(l Limits) (int, error) {
	if l.Processes <= 0 || nprocObstacle("/", os.Getuid()) != nil {
		return -1, nil
	}
	return userTasks("/", os.Getuid())
}

// Rest returns the limits that a sandbox must set.
func (e *Enforcer) Rest(all Limits) Limits {
	if e == nil {
		return all
	}
	return e.rest
}

// Attach makes the process start inside its cgroup.
func (e *Enforcer) Attach(attr *syscall.SysProcAttr) {
	if e != nil && e.dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(e.dir.Fd())
	}
}

// Set limits a process that was just started. If that fails, it kills the process, which is still
// held and must not run without its limits.
func (e *Enforcer) Set(pid int) bool {
	if e == nil {
		return true
	}
	if e.err = setRlimits(pid, e.rlimits); e.err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // a child that is not reaped, so the pid is still its own
	}
	return e.err == nil
}

// Check returns why Set failed, if it did, and reaps the process that Set killed.
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

// Abandon removes what was created for a process that was not started.
func (e *Enforcer) Abandon() {
	if e == nil {
		return
	}
	if e.dir != nil {
		_ = e.dir.Close()
	}
	if e.cgroup != nil {
		_ = e.cgroup.remove() // it is empty, or its processes were killed
	}
}

// Kill kills all processes in the cgroup.
func (e *Enforcer) Kill() {
	if e != nil && e.cgroup != nil {
		_ = e.cgroup.kill() // remaining processes are noticed when it is removed
	}
}

// Exceeded returns the limit for which the process was killed, if any.
func (e *Enforcer) Exceeded(end Ending) string {
	if e == nil {
		return ""
	}
	end.outOfMemory = e.cgroup != nil && e.cgroup.outOfMemory()
	return e.limits.exceeded(end)
}
