package proc

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
	"github.com/patchbay-dev/patchbay/internal/limits"
)

// drainDelay is how long a finished process's pipes are read on when something it started still
// holds them. All that the process itself wrote is in the pipe when it ends, so this only has to
// outlast our own reading.
const drainDelay = 200 * time.Millisecond

// lookPause is the time between two looks at what a program has left behind.
const lookPause = 10 * time.Millisecond

// Exit is how a process ended.
type Exit struct {
	Code   int    // the exit code; -1 on a signal, or while the process runs
	Signal string // the signal's name, "SIGKILL"; empty on a normal exit

	// Over is the limit for which it was killed: "over its memory of 256 MiB". Empty: for none, or
	// that cannot be known. A refused allocation, fork or open is the process's own to report.
	Over string
}

// String is "exit code 3", "SIGKILL", "SIGXCPU, over its CPU time of 1m0s" or "running".
func (e Exit) String() string {
	switch {
	case e.Signal != "" && e.Over != "":
		return e.Signal + ", " + e.Over
	case e.Signal != "":
		return e.Signal
	case e.Code < 0:
		return "running"
	}
	return "exit code " + strconv.Itoa(e.Code)
}

// ShellCode is the exit as a shell reports it: the code, or 128 and the signal's number.
func (e Exit) ShellCode() int {
	if e.Signal != "" {
		return 128 + signalNumber(e.Signal)
	}
	return e.Code
}

// Process is one started process, the leader of its process group. Its methods are safe for
// concurrent use.
type Process struct {
	group  *Group
	os     *os.Process
	mark   uint64 // what it and its offspring are marked with; 0: not marked
	birth  birth
	linger time.Duration    // see Spec.Linger
	packed *Packed          // what stands for the program; nil: the program itself
	heard  chan struct{}    // closed when packed has been awaited
	limits *limits.Enforcer // what keeps it within its limits; nil: it has none
	stdin  *os.File
	stdout *os.File
	stderr *stderr
	left   chan struct{} // closed when the leader has ended; it is not reaped yet
	done   chan struct{} // closed when it is reaped and its stderr read
	exit   Exit          // written before done is closed
	behind bool          // something outlived the program; written before done is closed
	cost   int           // descriptors of the host

	mu     sync.Mutex // protects the fields below
	gone   bool       // the leader has ended
	reaped bool       // its number may be a stranger's: send no signal
	termed bool       // SIGTERM was sent while the leader lived
	killAt time.Time  // when SIGKILL follows; the earliest of all who asked
	timer  *time.Timer
	hurry  chan struct{} // closed when SIGKILL was sent
	killed bool
}

// birth is what a process is started for, decided by its owner.
type birth struct {
	perCall bool           // what it leaves behind after a normal exit is left alone
	brief   bool           // it will end soon: a thread may wait for it
	ahead   bool           // its box is built before there is a program for it
	onLeft  func(*Process) // told first when the leader ends, on the watching goroutine; may be nil
}

// Pid is the process's number, which is also its group's.
func (p *Process) Pid() int { return p.os.Pid }

// Stdin is the writing end of the process's stdin. Stop closes it.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the reading end of the process's stdout; deadlines work on it. It stays readable after
// the process has ended, until Stop closes it.
func (p *Process) Stdout() *os.File { return p.stdout }

// Done is closed when the process has ended, nothing of its group is left and its stderr is read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the process ended; its Code is -1 until Done is closed.
func (p *Process) Exit() Exit {
	if !p.ended() {
		return Exit{Code: -1}
	}
	return p.exit
}

// Left reports whether something that the program had started was still running when it had ended
// by itself: see Spec.Linger. It is false until Done is closed.
func (p *Process) Left() bool { return p.ended() && p.behind }

// Stderr is the end of what the process has written to stderr so far, at most 4 KiB.
func (p *Process) Stderr() string { return p.stderr.tail() }

// hasLeft reports whether the leader is known to have ended.
func (p *Process) hasLeft() bool {
	select {
	case <-p.left:
		return true
	default:
		return false
	}
}

// watch sees the process to its end. It alone reaps, and it does so last: until then the number of
// the leader, which is the group's as well, cannot be given to another process.
func (p *Process) watch() {
	defer p.group.work.Done()
	if p.birth.brief {
		awaitExitSoon(p.os)
	} else {
		awaitExit(p.os)
	}
	p.leave()
	p.lastRites()
	p.reap()
	if p.packed != nil {
		<-p.heard // a program can end before its owner has heard that it runs, and can read what it said
	}
	p.finishReading()
	if p.packed != nil {
		p.packed.Over()
	}
	p.group.remove(p)
	p.group.descriptors.Give(p.cost)
	close(p.done)
}

// leave notes that the leader has ended.
func (p *Process) leave() {
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	close(p.left)
	if p.birth.onLeft != nil {
		p.birth.onLeft(p)
	}
}

// lastRites deals with what the leader has left behind. A process per call that ended by itself may
// have left a background upload, and that is spared: it dies with the host. Everything else goes.
func (p *Process) lastRites() {
	if p.spares() {
		return
	}
	p.mu.Lock()
	termed, until := p.termed, p.killAt
	p.mu.Unlock()
	if termed {
		p.letGroupFinish(until)
	} else {
		p.behind = p.outlived()
	}
	p.signalGroup(sigKill)
	p.limits.Kill()
	guard.Sweep(p.group.marks.one(p.mark))
}

// spares reports whether what the leader has left behind may live on.
func (p *Process) spares() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.birth.perCall && !p.termed && !p.killed
}

// letGroupFinish gives the members of a group that was sent SIGTERM what is left of their time when
// the leader has already gone: a shell dies at once and leaves the program it ran still saving its
// work.
func (p *Process) letGroupFinish(until time.Time) {
	pause := time.Millisecond
	for guard.GroupAlive(p.Pid()) && time.Now().Before(until) {
		select {
		case <-p.hurry:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// outlived reports whether something is still running when the time is over for which what the
// program left behind is watched.
func (p *Process) outlived() bool {
	if p.linger == 0 {
		return false
	}
	until := time.Now().Add(p.linger)
	for p.offspring() {
		if time.Now().After(until) {
			return true
		}
		select {
		case <-p.hurry:
			return false
		case <-time.After(lookPause):
		}
	}
	return false
}

// offspring reports whether anything that the process has started is alive. Without a mark nobody
// can tell.
func (p *Process) offspring() bool {
	return p.mark != 0 && len(guard.Alive(p.group.marks.one(p.mark))) > 0
}

// reap collects the exit of a leader that has ended. No signal is sent to its group from here on.
func (p *Process) reap() {
	spare := p.spares()
	p.mu.Lock()
	p.reaped = true
	killed := p.killed
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	if p.mark == 0 {
		p.group.guardian.tell(-p.Pid())
	}
	state, err := p.os.Wait()
	if err != nil { // someone else in this program reaped our child
		p.group.log.Warn("exit of a process is unknown", "pid", p.Pid(), "err", err)
	}
	p.exit = exitOf(state)
	p.exit.Over = p.limits.Exceeded(limits.Ending{Signal: p.exit.Signal, CPU: cpuOf(state), ByHost: killed})
	if err := p.group.cgroups.Drop(p.limits, spare); err != nil {
		p.group.log.Warn("a cgroup is left behind", "pid", p.Pid(), "err", err)
	}
	p.group.marks.free(p.mark)
}

// cpuOf is the processor time of a process that was waited for; nil stands for an exit nobody
// knows.
func cpuOf(state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	return state.UserTime() + state.SystemTime()
}

// finishReading waits until stderr is read, and bounds that wait and the reading of a call's
// stdout: a grandchild may hold the pipes for as long as it lives.
func (p *Process) finishReading() {
	deadline := time.Now().Add(drainDelay)
	if p.birth.perCall {
		_ = p.stdout.SetReadDeadline(deadline)
	}
	_ = p.stderr.src.SetReadDeadline(deadline)
	<-p.stderr.finished
}

// signalGroup sends a signal to the whole group while that is safe, and reports whether it was.
func (p *Process) signalGroup(s sig) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return false
	}
	p.sendGroup(s)
	return true
}
