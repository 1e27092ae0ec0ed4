package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// pinned calls start, which starts a process. The process and its descendants may only run on n of
// the processors that this process may use: on the last ones, because the first handles most
// interrupts. note says which they are.
//
// Affinity belongs to a thread, and processes started by the thread inherit it. So it is set on a
// locked thread before the start and restored afterwards.
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

// pipeSize is the size that Patchbay requests for the pipes of its plugins. An ordinary user may
// have it (/proc/sys/fs/pipe-max-size).
const pipeSize = 1 << 20

// widen makes room in a pipe for a whole large message. If the kernel refuses, calls are only
// slower. It does not use File.Fd, which would remove the pipe from the runtime's poller.
func widen(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
