package jail

import (
	"runtime"
	"syscall"
)

// The bits of <linux/securebits.h>. Each is combined with its lock bit, without which it could be
// undone.
const (
	noRoot         = 0b11 << 0 // uid 0 gets no capabilities by executing a program
	noSetuidFixup  = 0b11 << 2
	keepCapsLocked = 0b10 << 4
	noAmbientRaise = 0b11 << 6
)

// lastCapability bounds the search for the last capability that the kernel knows (40 in Linux
// 6.18).
const lastCapability = 63

// restrict removes every right that the plan does not grant from this thread and from the processes
// that it starts. It cannot be undone.
func (s *stage) restrict(plan *Plan) error {
	prepare(plan.Limits)
	if err := joinKeyring(); err != nil && !is(err, syscall.ENOSYS) { // otherwise the program could use the host's keys
		return while(err, "leave the keyring")
	}
	if err := prctl(prSetDumpable, 0); err != nil { // processes inside cannot read the memory of pid 1
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
	return limit(plan.Limits) // last, because the limits apply to this process too
}

// noCore prevents core dumps of the program. It sets the hard limit too, because the program could
// raise a soft one. The limit is 1, which is too small for any core. At 0 the kernel would still
// start the program that collects the machine's cores, if there is one.
func noCore() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &l); err != nil {
		return err
	}
	l.Max = min(l.Max, 1)
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &l)
}

// The resources that pid 1 may still need under its program's limits, generously counted.
const (
	ownMemory  = 4 << 20 // to start the program
	ownThreads = 6       // of Go's runtime; in a program with C code each has a stack of 8 MiB

	// roomy is a memory limit that is large enough for pid 1 without preparation. Of pid 1's
	// memory, 72 MB count against the limit, and 420 MB under the race detector.
	roomy = 1 << 30
)

// prepare allocates the memory and threads that this process will need before the limits are set.
// The tables of Go's runtime are larger than many a program's limit, and the runtime crashes if it
// is refused memory or a thread.
func prepare(limits []Limit) {
	if len(limits) == 0 {
		return
	}
	takeThreads()
	for _, l := range limits {
		if (l.Resource == syscall.RLIMIT_DATA || l.Resource == syscall.RLIMIT_AS) && l.Cur < roomy {
			runtime.KeepAlive(make([]byte, ownMemory))
			runtime.GC() // collected memory is free but stays mapped; this takes a millisecond
			return
		}
	}
}

// takeThreads makes Go's runtime create some threads, which it keeps.
func takeThreads() {
	up, down := make(chan bool, ownThreads), make(chan bool)
	for range ownThreads {
		go func() {
			runtime.LockOSThread() // so that each goroutine has its own thread
			up <- true
			<-down
			runtime.UnlockOSThread() // so that the thread is kept for later use
		}()
	}
	for range ownThreads {
		<-up
	}
	close(down)
}

// limit sets the limits of the whole process; the kernel has no limits for a thread. Go resets the
// limit on open files in each child, unless it was changed through syscall.Setrlimit, as here.
func limit(limits []Limit) error {
	for _, l := range limits {
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Cur, Max: l.Max}); err != nil {
			return while(err, "set limit "+decimal(uint64(l.Resource))+" to "+decimal(l.Cur))
		}
	}
	return nil
}

// dropCapabilities drops all capabilities of this thread and the ways to regain them. uid 0 has no
// privileges then.
func dropCapabilities() error {
	for c := range uintptr(lastCapability + 1) {
		err := prctl(prCapbsetDrop, c)
		if is(err, syscall.EINVAL) { // the kernel has no more capabilities
			break
		}
		if is(err, syscall.EPERM) { // an ordinary user without namespaces may not drop capabilities, and has none
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
