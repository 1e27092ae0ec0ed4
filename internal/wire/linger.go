//go:build unix

package wire

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// linger is how a call waits for a plugin that answers at once, as most do: in a system call of its
// own. The runtime's poller lets other goroutines run meanwhile, but its way to sleep and back
// costs more than the whole of a small answer.
//
// A thread that waits like this keeps its processor from the other goroutines until the runtime
// takes it away. So one call in the program does at a time, only while its plugin is brisk, and
// never for long.
type linger struct {
	deadline time.Time // of the call under way, which is met; zero: none
	began    time.Time // when its wait did; zero: it did not wait
	brisk    bool      // the last wait was short
	poll     [1]unix.PollFd
}

const (
	// briskWait is how long a plugin may take that is worth lingering for. Behind that, the
	// poller's price is small.
	briskWait = 200 * time.Microsecond
	// longestLinger bounds what one linger keeps from others, and how much later a cancelled call
	// notices. It is longer than the kernel's tick: a timer that comes before that costs as much as
	// lingering saves.
	longestLinger = firstWait
)

// lingering is set while a call in this program lingers.
var lingering atomic.Bool

// wait waits for something to read on fd, and reports false where that is left to the poller.
func (l *linger) wait(fd uintptr) (ready bool) {
	l.began = time.Now()
	near := !l.deadline.IsZero() && l.deadline.Sub(l.began) < longestLinger
	if near || !l.brisk || !lingering.CompareAndSwap(false, true) {
		return false
	}
	l.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	n, err := unix.Poll(l.poll[:], int(longestLinger.Milliseconds()))
	lingering.Store(false)
	return n > 0 && err == nil // a signal: the poller waits on
}

// waited takes note of how long the wait was, where there was one.
func (l *linger) waited() {
	if l.began.IsZero() {
		return
	}
	l.brisk = time.Since(l.began) < briskWait
	l.began = time.Time{}
}
