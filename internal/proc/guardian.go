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
	// earlyDeath is the age below which a guardian's end counts as a failure to start.
	earlyDeath = time.Second

	// maxEarlyDeaths is how many of those in a row end the attempts: the executable cannot be its
	// own guardian.
	maxEarlyDeaths = 3

	// tellDeadline bounds a line to the guardian. The pipe holds thousands of them, so it is met
	// only by a guardian that does not read any more.
	tellDeadline = 10 * time.Millisecond
)

// guardian is the host's side of package guard: at most one such process at a time, started with
// the first child and started again, at the next child, should it die.
type guardian struct {
	mu      sync.Mutex // protects the fields below
	post    *post      // nil: none yet
	failed  int        // early deaths in a row
	retired bool       // the group is closed
}

// post is one guardian process.
type post struct {
	pipe *os.File      // the host's end, the only one; the kernel closes it when the host dies
	up   chan struct{} // closed when the process exists, or could not be started
	down chan struct{} // closed when it has ended
	proc *os.Process   // written before up is closed; nil: not started
	born time.Time
}

// stand makes sure that there is a guardian and returns it, started in the background: the first
// plugin must not wait for it. nil: it cannot be had, which was logged. groups are named to a new
// guardian.
func (g *guardian) stand(log *slog.Logger, mark guard.Mark, groups func() []int) *post {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.post != nil && !g.post.ended() {
		return g.post
	}
	if !guardianPossible || g.retired || g.failed >= maxEarlyDeaths {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		log.Warn("no guardian: plugins may survive a killed host", "err", err)
		g.failed = maxEarlyDeaths
		return nil
	}
	p := &post{pipe: write, up: make(chan struct{}), down: make(chan struct{}), born: time.Now()}
	for _, pid := range groups() {
		p.tell(pid)
	}
	g.post = p
	go g.attend(log, p, read, mark)
	return p
}

// attend starts a guardian and stays with it until it ends. It owns the read end of the pipe.
func (g *guardian) attend(log *slog.Logger, p *post, read *os.File, mark guard.Mark) {
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
		g.failed = maxEarlyDeaths
	case time.Since(p.born) > earlyDeath:
		g.failed = 0
	default:
		g.failed++
	}
	log.Warn("guardian ended: plugins may survive a killed host", "err", err, "retry", g.failed < maxEarlyDeaths)
}

// endOf waits for the end of a process that should not end, and says how it did.
func endOf(proc *os.Process) error {
	awaitExit(proc)
	state, err := proc.Wait()
	if err != nil {
		return err
	}
	return errors.New(exitOf(state).String())
}

// startGuardian runs the host's own executable as the guardian: in a session of its own, at the
// root directory, with the pipe on stdin and nothing else of ours. One thread and no collections
// keep it small.
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
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", "GOTRACEBACK=none"},
		Files: []*os.File{pipe, null, null},
		Sys:   guardianAttr(),
	})
	if err != nil {
		return nil, err
	}
	guard.Unmark(proc.Pid)
	return proc, nil
}

// ended reports whether the guardian is gone.
func (p *post) ended() bool {
	select {
	case <-p.down:
		return true
	default:
		return false
	}
}

// awaitUp waits until the process exists. Whoever is handed a child after that can be sure that it
// is guarded.
func (p *post) awaitUp() {
	if p != nil {
		<-p.up
	}
}

// tell names a process group to the guardian, or takes the name back where pid is negative. A
// marked process need not be named. An error means that the guardian is dying, which attend
// reports.
func (p *post) tell(pid int) {
	if p == nil {
		return
	}
	_ = p.pipe.SetWriteDeadline(time.Now().Add(tellDeadline))
	_, _ = p.pipe.WriteString(strconv.Itoa(pid) + "\n")
}

// tell passes a line to the present guardian, if there is one.
func (g *guardian) tell(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.post.tell(pid)
}

// present is the guardian there is, or is about to be; nil: none was wanted yet.
func (g *guardian) present() *post {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.post
}

// dismiss ends the guardian for good. It is killed, not asked: nothing is left for it to do, and
// one that is still starting up would take its time.
func (g *guardian) dismiss() {
	g.mu.Lock()
	g.retired = true
	p := g.post
	g.mu.Unlock()
	if p == nil {
		return
	}
	<-p.up
	if p.proc != nil {
		_ = p.proc.Kill() // ended already: all the better
	}
	<-p.down
}

// checkProgram is an error where the running executable is not a Go program of its own but some
// other program that has loaded Go code as a library: that would not know what to do with a
// guardian's name.
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
