package jail

import (
	"runtime"
	"syscall"
)

// The bits of <linux/securebits.h>. Each has a lock beside it, and is of no use without.
const (
	noRoot         = 0b11 << 0 // uid 0 gets no capabilities by executing a program
	noSetuidFixup  = 0b11 << 2
	keepCapsLocked = 0b10 << 4
	noAmbientRaise = 0b11 << 6
)

// lastCapability bounds the search for the last capability the kernel knows (40 in Linux 6.18).
const lastCapability = 63

// restrict takes from this thread, and from all that it starts, every right that the plan does not
// give. It cannot be undone.
func (s *stage) restrict(plan *Plan) error {
	prepare(plan.Limits)
	if err := joinKeyring(); err != nil && !is(err, syscall.ENOSYS) { // else the host's keys are at hand
		return while(err, "leave the keyring")
	}
	if err := prctl(prSetDumpable, 0); err != nil { // nobody inside may look into pid 1
		return while(err, "hide the memory of pid 1")
	}
	if err := dropCapabilities(); err != nil {
		return while(err, "give up capabilities")
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return while(err, "give up new privileges")
	}
	if err := landlock(&plan.Landlock); err != nil {
		return err
	}
	if len(plan.Filter) > 0 {
		if err := setFilter(plan.Filter); err != nil {
			return while(err, "filter system calls")
		}
	}
	if err := noCore(); err != nil {
		return while(err, "forbid cores")
	}
	return limit(plan.Limits) // last: from here on this process, too, can have little
}

// noCore sees to it that no core is ever made of the program. The soft limit alone the program
// could raise. A limit of 1 is less than any core has, and the only one at which the kernel does
// not start the machine's own program for cores, where there is one: it does at 0.
func noCore() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &l); err != nil {
		return err
	}
	l.Max = min(l.Max, 1)
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &l)
}

// What pid 1 may still need when it is under its program's limits: more than it ever did.
const (
	ownMemory  = 4 << 20 // for starting the program
	ownThreads = 6       // of Go's runtime; those of a program with C in it have stacks of 8 MiB each

	// roomy is a limit on memory of which pid 1 uses but a part: it has 72 MB that count, and 420
	// MB under the race detector.
	roomy = 1 << 30
)

// prepare has this process take what it will need while there is no limit: Go's own tables are more
// than many a program may have, and Go ends when it is refused memory or a thread.
func prepare(limits []Limit) {
	if len(limits) == 0 {
		return
	}
	takeThreads()
	for _, l := range limits {
		if (l.Resource == syscall.RLIMIT_DATA || l.Resource == syscall.RLIMIT_AS) && l.Cur < roomy {
			runtime.KeepAlive(make([]byte, ownMemory))
			runtime.GC() // what is collected is free again, and stays mapped; it takes a millisecond
			return
		}
	}
}

// takeThreads has Go's runtime make some threads, which it keeps.
func takeThreads() {
	up, down := make(chan bool, ownThreads), make(chan bool)
	for range ownThreads {
		go func() {
			runtime.LockOSThread() // so that each has one to itself
			up <- true
			<-down
			runtime.UnlockOSThread() // not ended with it, but kept for the next who needs one
		}()
	}
	for range ownThreads {
		<-up
	}
	close(down)
}

// limit sets the limits of the whole process: the system keeps none for a thread. Go puts its own
// idea of how many files may be open into each child, unless it saw the limit being set, as here.
func limit(limits []Limit) error {
	for _, l := range limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Cur, Max: l.Max}); err != nil {
			return while(err, "set limit "+decimal(uint64(l.Resource))+" to "+decimal(l.Cur))
		}
	}
	return nil
}

// dropCapabilities gives up all capabilities of this thread, and the ways back to them: uid 0 is no
// privilege any more.
func dropCapabilities() error {
	for c := range uintptr(lastCapability + 1) {
		err := prctl(prCapbsetDrop, c)
		if is(err, syscall.EINVAL) { // the kernel knows no more of them
			break
		}
		if is(err, syscall.EPERM) { // not ours to drop, so not ours to have: without namespaces an ordinary user
			break
		}
		if err != nil {
			return err
		}
	}
	if err := prctl(prSetSecurebits, noRoot|noSetuidFixup|keepCapsLocked|noAmbientRaise); err != nil && !is(err, syscall.EPERM) {
		return err
	}
	if err := prctl(prCapAmbient, prCapAmbientClearAll); err != nil {
		return err
	}
	return capset(new([2]capData))
}
