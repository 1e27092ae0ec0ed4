package proc

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
	"github.com/patchbay-dev/patchbay/internal/limits"
)

// drainDelay is how long the pipes of an ended process are still read if a process that it started
// holds them. Everything that the process itself wrote is in the pipe when it ends, so this only
// has to be longer than the host takes to read it.
const drainDelay = 200 * time.Millisecond

// leftoverPoll is the time between two checks for processes that a program has left behind.
const leftoverPoll = 10 * time.Millisecond

// Exit says how a process ended.
type Exit struct {
	Code   int    // the exit code; -1 after a signal, or while the process runs
	Signal string // the signal's name, such as "SIGKILL"; empty after a normal exit

	// Over is the limit for which the process was killed: "over its memory of 256 MiB". It is empty
	// if no limit was exceeded, or if that cannot be known. The process itself reports a refused
	// allocation, fork or open.
	Over string
}

// String returns "exit code 3", "SIGKILL", "SIGXCPU, over its CPU time of 1m0s" or "running".
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

// ShellCode returns the exit code as a shell reports it: the code, or 128 plus the signal's number.
func (e Exit) ShellCode() int {
	if e.Signal != "" {
		return 128 + signalNumber(e.Signal)
	}
	return e.Code
}

// A Process is a started process, the leader of its process group. Its methods are safe for
// concurrent use.
type Process struct {
	group   *Group
	os      *os.Process
	mark    uint64 // the mark of the process and its descendants; 0 if it has none
	mode    startMode
	linger  time.Duration    // see Spec.Linger
	packed  *Packed          // the process that stands for the program; nil if it is the program itself
	awaited chan struct{}    // closed when packed.Await has returned
	limits  *limits.Enforcer // enforces the limits; nil if there are none
	stdin   *os.File
	stdout  *os.File
	stderr  *stderr
	left    chan struct{} // closed when the leader has ended; it is not reaped yet
	done    chan struct{} // closed when the leader is reaped and its stderr is read
	exit    Exit          // written before done is closed
	behind  bool          // a process outlived the program; written before done is closed
	cost    int           // the number of the host's descriptors that it uses

	mu     sync.Mutex // protects the fields below
	gone   bool       // the leader has ended
	reaped bool       // the pid may be reused, so no signal may be sent
	termed bool       // SIGTERM was sent while the leader was running
	killAt time.Time  // when SIGKILL follows; the earliest time that any caller asked for
	timer  *time.Timer
	hurry  chan struct{} // closed when SIGKILL was sent
	killed bool
}

// startMode says how a process is used. Its owner decides that.
type startMode struct {
	perCall bool           // processes that it leaves behind after a normal exit may go on
	brief   bool           // it will end soon, so a thread may block on it
	ahead   bool           // its box is built before there is a program for it
	onLeft  func(*Process) // called first when the leader ends, on the watching goroutine; may be nil
}

// Pid returns the process id, which is also the id of the process group.
func (p *Process) Pid() int { return p.os.Pid }

// Stdin returns the writing end of the process's stdin. Stop closes it.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout returns the reading end of the process's stdout; deadlines work on it. It stays readable
// after the process has ended, until Stop closes it.
func (p *Process) Stdout() *os.File { return p.stdout }

// Done returns a channel that is closed when the process and its group have ended and its stderr is
// read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether Done is closed.
func (p *Process) Ended() bool { return ended(p) }

// Exit returns how the process ended. Its Code is -1 until Done is closed.
func (p *Process) Exit() Exit {
	if !p.ended() {
		return Exit{Code: -1}
	}
	return p.exit
}

// Left reports whether a process that the program started was still running after the program
// exited by itself: see Spec.Linger. It is false until Done is closed.
func (p *Process) Left() bool { return p.ended() && p.behind }

// Stderr returns the end of the process's stderr so far, at most 4 KiB.
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

// watch waits for the end of the process. Only watch reaps it, and does so last: until then the pid
// of the leader, which is also the id of the group, cannot be reused.
func (p *Process) watch() {
	defer p.group.work.Done()
	if p.mode.brief {
		awaitExitSoon(p.os)
	} else {
		awaitExit(p.os)
	}
	p.recordLeaderEnd()
	p.killLeftovers()
	p.reap()
	if p.packed != nil {
		// A short program ends before the caller of spawn knows that it ran. The caller must still
		// be able to read its output, so finishReading must not run yet.
		<-p.awaited
	}
	p.finishReading()
	if p.packed != nil {
		p.packed.Close()
	}
	p.group.remove(p)
	p.group.descriptors.Give(p.cost)
	close(p.done)
}

// recordLeaderEnd records that the leader has ended.
func (p *Process) recordLeaderEnd() {
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	close(p.left)
	if p.mode.onLeft != nil {
		p.mode.onLeft(p)
	}
}

// killLeftovers kills the processes that the leader has left behind. It spares them if the process
// was started for one call and exited by itself: a background upload, for example, may go on until
// the host ends.
func (p *Process) killLeftovers() {
	if p.leftoversMayRun() {
		return
	}
	p.mu.Lock()
	termed, until := p.termed, p.killAt
	p.mu.Unlock()
	if termed {
		p.letGroupFinish(until)
	} else {
		p.behind = p.leftoversOutlast()
	}
	p.signalGroup(sigKill)
	p.limits.Kill()
	p.group.sweeper.Sweep(p.group.marks.one(p.mark))
}

// leftoversMayRun reports whether processes that the leader has left behind may go on.
func (p *Process) leftoversMayRun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode.perCall && !p.termed && !p.killed
}

// letGroupFinish is called when the leader has ended after SIGTERM. It waits until the other
// members of the group have ended too, or until SIGKILL is due. A shell ends at once, while the
// program that it ran may still be saving its work.
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

// leftoversOutlast waits until the processes that the program left behind have ended, at most for
// linger. It reports whether one is still running then.
func (p *Process) leftoversOutlast() bool {
	if p.linger == 0 {
		return false
	}
	until := time.Now().Add(p.linger)
	for p.hasDescendants() {
		if time.Now().After(until) {
			return true
		}
		select {
		case <-p.hurry:
			return false
		case <-time.After(leftoverPoll):
		}
	}
	return false
}

// hasDescendants reports whether a process that this process started is running. Without a mark it
// returns false.
func (p *Process) hasDescendants() bool {
	return p.mark != 0 && len(guard.Alive(p.group.marks.one(p.mark))) > 0
}

// reap collects the exit of a leader that has ended. No signal is sent to its group afterwards.
func (p *Process) reap() {
	mayRun := p.leftoversMayRun()
	p.mu.Lock()
	p.reaped = true
	killed := p.killed
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	if p.mark == 0 {
		p.group.guardian.sendPid(-p.Pid())
	}
	state, err := p.os.Wait()
	if err != nil { // other code in this program reaped the child
		p.group.log.Warn("exit of a process is unknown", "pid", p.Pid(), "err", err)
	}
	p.exit = exitOf(state)
	p.exit.Over = p.limits.Exceeded(limits.Ending{Signal: p.exit.Signal, CPU: cpuOf(state), ByHost: killed})
	if err := p.group.cgroups.Drop(p.limits, mayRun); err != nil {
		p.group.log.Warn("a cgroup is left behind", "pid", p.Pid(), "err", err)
	}
	p.group.marks.free(p.mark)
}

// cpuOf returns the processor time of a process. state is nil if its exit is unknown.
func cpuOf(state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	return state.UserTime() + state.SystemTime()
}

// finishReading waits until stderr is read. It bounds that wait and the reading of a call's stdout,
// because a grandchild may hold the pipes for as long as it runs.
func (p *Process) finishReading() {
	deadline := time.Now().Add(drainDelay)
	if p.mode.perCall {
		_ = p.stdout.SetReadDeadline(deadline)
	}
	_ = p.stderr.src.SetReadDeadline(deadline)
	<-p.stderr.finished
}

// signalGroup sends a signal to the whole group, and reports whether that was still safe.
func (p *Process) signalGroup(s sig) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return false
	}
	p.sendGroup(s)
	return true
}
