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
	// earlyDeath is the age below which the end of a guardian counts as a failure to start.
	earlyDeath = time.Second

	// maxEarlyDeaths is how many of these failures in a row are allowed. Then the executable cannot
	// be its own guardian, and no more are started.
	maxEarlyDeaths = 3

	// tellDeadline bounds the writing of a line to the guardian. The pipe holds thousands of lines,
	// so only a guardian that does not read reaches it.
	tellDeadline = 10 * time.Millisecond
)

// guardian is the host's side of package guard. There is at most one guardian process at a time. It
// is started with the first child, and started again with the next child if it has ended.
type guardian struct {
	mu      sync.Mutex // protects the fields below
	post    *post      // nil if there is none yet
	failed  int        // failures to start in a row
	retired bool       // the group is closed
}

// A post is one guardian process.
type post struct {
	pipe *os.File      // the host's end, the only one; the kernel closes it when the host ends
	up   chan struct{} // closed when the process exists, or could not be started
	down chan struct{} // closed when it has ended
	proc *os.Process   // nil if it was not started; written before up is closed
	born time.Time
}

// stand starts a guardian if there is none, and returns it. It starts it in the background, so that
// the first plugin need not wait. It returns nil if there can be no guardian, which was logged. A
// new guardian is sent the pids that groups returns.
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

// attend starts a guardian and waits until it ends. It owns the read end of the pipe.
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
// collection keep it small.
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

// ended reports whether the guardian has ended.
func (p *post) ended() bool {
	select {
	case <-p.down:
		return true
	default:
		return false
	}
}

// awaitUp waits until the process exists. A child that is returned after that is guarded.
func (p *post) awaitUp() {
	if p != nil {
		<-p.up
	}
}

// tell sends the id of a process group to the guardian, or withdraws it if pid is negative. Marked
// processes need not be sent. An error means that the guardian is ending, which attend logs.
func (p *post) tell(pid int) {
	if p == nil {
		return
	}
	_ = p.pipe.SetWriteDeadline(time.Now().Add(tellDeadline))
	_, _ = p.pipe.WriteString(strconv.Itoa(pid) + "\n")
}

// tell sends a pid to the current guardian, if there is one.
func (g *guardian) tell(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.post.tell(pid)
}

// present returns the current guardian, which may still be starting. It is nil if none was needed
// yet.
func (g *guardian) present() *post {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.post
}

// dismiss ends the guardian. It kills it, because nothing is left for it to do, and one that is
// still starting would take longer to end by itself.
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
