package jail

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// The bits of <linux/securebits.h>, which x/sys/unix does not have. Each has a lock beside it, and is of no use without.
const (
	noRoot         = 0b11 << 0 // uid 0 gets no capabilities by executing a program
	noSetuidFixup  = 0b11 << 2
	keepCapsLocked = 0b10 << 4
	noAmbientRaise = 0b11 << 6
)

// lastCapability bounds the search for the last capability the kernel knows (40 in Linux 6.18).
const lastCapability = 63

// restrict takes from this thread, and from all that it starts, every right that the plan does not give. It cannot be undone.
func (s *stage) restrict(plan *Plan) error {
	if err := limit(plan.Limits); err != nil {
		return err
	}
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) { // else the host's keys are at hand
		return while(err, "leave the keyring")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody inside may look into pid 1
		return while(err, "hide the memory of pid 1")
	}
	if err := dropCapabilities(); err != nil {
		return while(err, "give up capabilities")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return while(err, "give up new privileges")
	}
	if err := s.landlock(plan); err != nil {
		return err
	}
	return while(setFilter(filter(plan)), "filter system calls")
}

// limit sets the limits of the whole process: the system keeps none for a thread. Go puts its own idea of how many files may be
// open into each child, unless it saw the limit being set.
func limit(limits []Limit) error {
	for _, l := range limits {
		var err error
		if l.Resource == unix.RLIMIT_NOFILE {
			err = syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Cur, Max: l.Max})
		} else {
			err = unix.Setrlimit(l.Resource, &unix.Rlimit{Cur: l.Cur, Max: l.Max})
		}
		if err != nil {
			return while(err, "set limit %d to %d", l.Resource, l.Cur)
		}
	}
	return nil
}

// dropCapabilities gives up all capabilities of this thread, and the ways back to them: uid 0 is no privilege any more.
func dropCapabilities() error {
	for c := range lastCapability + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) {
				break // the kernel knows no more of them
			}
			if errors.Is(err, unix.EPERM) {
				break // not ours to drop, so not ours to have: without namespaces an ordinary user
			}
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noSetuidFixup|keepCapsLocked|noAmbientRaise, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
