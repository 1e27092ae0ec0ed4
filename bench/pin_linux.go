package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// pinned calls start, which starts a process, such that the process and all its descendants may
// only run on n of the processors this one may use (the last ones: the first takes most
// interrupts). It says in note what came of it.
//
// Affinity belongs to a thread and is inherited by what the thread starts, so it is set on a locked
// thread around the start and put back afterwards.
func pinned(n int, start func() error) (note string, err error) {
	if n == 0 {
		return fmt.Sprintf("on all %d processors", runtime.NumCPU()), start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		return fmt.Sprintf("not pinned: %v", err), start()
	}
	now, cpus := lastOf(was, n)
	if err := unix.SchedSetaffinity(0, &now); err != nil {
		return fmt.Sprintf("not pinned: %v", err), start()
	}
	err = start()
	if rerr := unix.SchedSetaffinity(0, &was); err == nil {
		err = rerr
	}
	return fmt.Sprintf("pinned to processors %v", cpus), err
}

// lastOf returns the last n processors of a set, or as many as it has.
func lastOf(set unix.CPUSet, n int) (chosen unix.CPUSet, cpus []int) {
	for cpu := len(set)*64 - 1; cpu >= 0 && len(cpus) < n; cpu-- {
		if set.IsSet(cpu) {
			chosen.Set(cpu)
			cpus = append(cpus, cpu)
		}
	}
	return chosen, cpus
}

// pipeSize is what Patchbay asks for its plugins' pipes; an ordinary user may have it
// (/proc/sys/fs/pipe-max-size).
const pipeSize = 1 << 20

// widen makes room in a pipe for a whole large message. A refusal costs speed, nothing else. The
// descriptor is borrowed, because File.Fd would take the pipe away from the runtime's poller.
func widen(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
