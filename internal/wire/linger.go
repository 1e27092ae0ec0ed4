//go:build unix

package wire

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A linger makes a call wait for its reply in a system call of its own, instead of in the runtime's
// poller. That is faster if the plugin answers at once, as most do. The poller would let other
// goroutines run meanwhile, but putting the goroutine to sleep and waking it costs more than a
// whole small answer.
//
// A thread that waits like this keeps its processor from other goroutines until the runtime takes
// it away. So only one call in the program lingers at a time, only while its plugin is brisk, and
// never for long.
type linger struct {
	deadline time.Time // of the call under way, which must be met; zero: none
	began    time.Time // when the wait began; zero: there was none
	brisk    bool      // the last wait was short
	poll     [1]unix.PollFd
}

const (
	// briskWait is the longest wait for which lingering pays. Beyond it the cost of the poller is
	// small.
	briskWait = 200 * time.Microsecond
	// longestLinger bounds how long one call lingers, and how late a cancelled call notices. It is
	// longer than the usual tick of the kernel: for a timer that ends before the next tick, the
	// kernel must program the hardware, which costs as much as lingering saves.
	longestLinger = firstWait
)

// lingering is set while a call in this program lingers.
var lingering atomic.Bool

// wait waits for input on fd. It returns false if the poller has to wait instead.
func (l *linger) wait(fd uintptr) (ready bool) {
	l.began = time.Now()
	near := !l.deadline.IsZero() && l.deadline.Sub(l.began) < longestLinger
	if near || !l.brisk || !lingering.CompareAndSwap(false, true) {
		return false
	}
	l.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	n, err := unix.Poll(l.poll[:], int(longestLinger.Milliseconds()))
	lingering.Store(false)
	return n > 0 && err == nil // after a signal, the poller continues the wait
}

// waited records how long the wait was, if there was one.
func (l *linger) waited() {
	if l.began.IsZero() {
		return
	}
	l.brisk = time.Since(l.began) < briskWait
	l.began = time.Time{}
}
