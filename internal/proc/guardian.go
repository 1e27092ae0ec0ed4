package proc

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

const (
	// startupTime is the age below which the end of a guardian counts as a failure to start.
	startupTime = time.Second

	// maxStartFailures is how many of these failures in a row are allowed. Then the executable
	// cannot be its own guardian, and no more are started.
	maxStartFailures = 3

	// sendDeadline bounds the writing of a line to the guardian. The pipe holds thousands of lines,
	// so only a guardian that does not read reaches it.
	sendDeadline = 10 * time.Millisecond
)

// guardian is the host's side of package guard. There is at most one guardian process at a time. It
// is started with the first child, and started again with the next child if it has ended.
type guardian struct {
	mu      sync.Mutex       // protects the fields below
	proc    *guardianProcess // nil if there is none yet
	failed  int              // failures to start in a row
	retired bool             // the group is closed
}

// A guardianProcess is one guardian process.
type guardianProcess struct {
	pipe *os.File      // the host's end, the only one; the kernel closes it when the host ends
	up   chan struct{} // closed when the process exists, or could not be started
	down chan struct{} // closed when it has ended
	proc *os.Process   // nil if it was not started; written before up is closed
	born time.Time
}

// ensure starts a guardian if there is none, and returns it. The start goes on in the background,
// so that the first plugin need not wait. ensure returns nil if the system has no guardian, if the
// group is closed, or after too many failures, which are logged. It sends a new guardian the pids
// that groups returns.
func (g *guardian) ensure(log *slog.Logger, mark guard.Mark, groups func() []int) *guardianProcess {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.proc != nil && !g.proc.ended() {
		return g.proc
	}
	if !guardianPossible || g.retired || g.failed >= maxStartFailures {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		log.Warn("no guardian: plugins may survive a killed host", "err", err)
		g.failed = maxStartFailures
		return nil
	}
	p := &guardianProcess{pipe: write, up: make(chan struct{}), down: make(chan struct{}), born: time.Now()}
	for _, pid := range groups() {
		p.sendPid(pid)
	}
	g.proc = p
	go g.supervise(log, p, read, mark)
	return p
}

// supervise starts a guardian and waits until it ends. It owns the read end of the pipe.
func (g *guardian) supervise(log *slog.Logger, p *guardianProcess, read *os.File, mark guard.Mark) {
	defer close(p.down)
	defer p.pipe.Close()
	proc, err := startGuardian(read, mark)
	read.Close()
	p.proc = proc
	close(p.up)
	if err == nil {
		err = endOf(proc)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.retired:
		return
	case errors.Is(err, errors.ErrUnsupported):
		g.failed = maxStartFailures
	case time.Since(p.born) > startupTime:
		g.failed = 0
	default:
		g.failed++
	}
	log.Warn("guardian ended: plugins may survive a killed host", "err", err, "retry", g.failed < maxStartFailures)
}

// endOf waits for the end of a process that should not end, and returns how it ended.
func endOf(proc *os.Process) error {
	awaitExit(proc)
	state, err := proc.Wait()
	if err != nil {
		return err
	}
	return errors.New(exitOf(state).String())
}

// startGuardian runs the host's own executable as the guardian: in its own session, in the root
// directory, with the pipe on stdin and no other descriptor of the host. One thread and no garbage
// collection keep it small, and it need not look for the limits of its cgroup.
func startGuardian(pipe *os.File, mark guard.Mark) (*os.Process, error) {
	if err := checkProgram(); err != nil {
		return nil, err
	}
	path, err := ownExecutable()
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	proc, err := os.StartProcess(path, []string{guard.Name, mark.String()}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GOTRACEBACK=none", "GODEBUG=containermaxprocs=0"},
		Files: []*os.File{pipe, null, null},
		Sys:   guardianAttr(),
	})
	if err != nil {
		return nil, err
	}
	guard.Unmark(proc.Pid)
	return proc, nil
}

// ended reports whether the guardian has ended.
func (p *guardianProcess) ended() bool {
	select {
	case <-p.down:
		return true
	default:
		return false
	}
}

// awaitUp waits until the process exists. A child that is returned after that is guarded.
func (p *guardianProcess) awaitUp() {
	if p != nil {
		<-p.up
	}
}

// sendPid sends the id of a process group to the guardian, or withdraws it if pid is negative.
// Marked processes need not be sent. An error means that the guardian is ending, which supervise
// logs.
func (p *guardianProcess) sendPid(pid int) {
	if p == nil {
		return
	}
	_ = p.pipe.SetWriteDeadline(time.Now().Add(sendDeadline))
	_, _ = p.pipe.WriteString(strconv.Itoa(pid) + "\n")
}

// sendPid sends a pid to the current guardian, if there is one.
func (g *guardian) sendPid(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.proc.sendPid(pid)
}

// current returns the current guardian, which may still be starting. It is nil if none was needed
// yet.
func (g *guardian) current() *guardianProcess {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proc
}

// kill kills the guardian. Nothing is left for the guardian to do, and a guardian that is still
// starting would take longer to end by itself.
func (g *guardian) kill() {
	g.mu.Lock()
	g.retired = true
	p := g.proc
	g.mu.Unlock()
	if p == nil {
		return
	}
	<-p.up
	if p.proc != nil {
		_ = p.proc.Kill() // may have ended already
	}
	<-p.down
}

// checkProgram returns an error if the running executable is not a Go program but another program
// that has loaded Go code as a library. Such a program would not recognise the guardian's name.
func checkProgram() error {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return nil
	}
	for _, s := range info.Settings {
		if s.Key == "-buildmode" && (strings.HasPrefix(s.Value, "c-") || s.Value == "plugin") {
			return fmt.Errorf("the host is a library in a foreign program: %w", errors.ErrUnsupported)
		}
	}
	return nil
}
