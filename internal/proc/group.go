package proc

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// ErrClosed is returned by everything that would start a process after Close.
var ErrClosed = errors.New("process group is closed")

// A Group holds all processes of one host, and the guardian that outlives it. It is safe for
// concurrent use.
type Group struct {
	log      *slog.Logger
	marks    *marks            // the marks of the processes
	sweeper  guard.Sweeper     // kills processes by their marks
	guardian guardian          // kills all processes if the host ends without Close
	programs *program.Resolver // finds the program of a Spec
	inherit  sync.Once         // sets close-on-exec on the descriptors that the host inherited
	hold     hold              // stops processes before their first instruction
	together atomic.Int32      // the number of active calls of Together
	cgroups  *limits.Cgroups   // enforces limits

	descriptors *limits.Descriptors // counts the descriptors that the processes cost the host
	spares      *spares             // boxes that were built ahead

	closing  sync.Once      // runs close once
	closeErr error          // the result of close
	work     sync.WaitGroup // counts the goroutines of all processes
	starting sync.WaitGroup // counts starts in progress; incremented under mu, while not closed

	mu       sync.Mutex // protects the fields below
	closed   bool
	procs    map[*Process]struct{} // started and not yet reaped
	standbys map[*Standby]struct{} // not yet closed
	draining map[*os.File]struct{} // pipes that are still held by processes that a call left behind
}

// NewGroup returns a group without processes, and starts nothing. If log is nil, messages are
// discarded.
func NewGroup(log *slog.Logger) *Group {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	g := &Group{
		log:         log,
		marks:       newMarks(),
		cgroups:     new(limits.Cgroups),
		descriptors: limits.HostDescriptors(),
		procs:       make(map[*Process]struct{}),
		standbys:    make(map[*Standby]struct{}),
		draining:    make(map[*os.File]struct{}),
	}
	g.programs = program.NewResolver(g.ask)
	g.spares = newSpares(g)
	return g
}

// Together lets processes that are started from now on run before the guardian is up. The function
// that it returns waits for the guardian. A caller that starts several processes and sets each up
// before it uses any of them need not wait in between. The guardian itself is not started any
// later.
func (g *Group) Together() (guarded func()) {
	g.together.Add(1)
	return func() {
		g.together.Add(-1)
		g.guardian.current().awaitUp()
	}
}

// Close kills every process of the group at once and returns when none of them is running: the
// leaders, their groups, the processes that left them, and the guardian. Running calls end with
// their process. A second Close waits for the first.
func (g *Group) Close() error {
	g.closing.Do(func() { g.closeErr = g.close() })
	return g.closeErr
}

func (g *Group) close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	standbys := g.waiting()
	for _, s := range standbys {
		s.cancel()
	}
	g.spares.close()
	g.killAll()
	g.starting.Wait() // from here on g.procs only shrinks
	g.killAll()
	for _, s := range standbys {
		<-s.ended
	}
	stuck := 0
	for _, p := range g.running() {
		if !p.awaitEnd() {
			stuck++
		}
		p.release()
	}
	stuck += g.sweeper.Sweep(g.marks.all())
	if err := g.cgroups.Close(); err != nil {
		g.log.Warn("a cgroup is left behind", "err", err)
	}
	g.endDraining()
	g.guardian.kill()
	if stuck > 0 { // their goroutines keep waiting, so do not wait for them
		return fmt.Errorf("processes survive SIGKILL: %d", stuck)
	}
	g.work.Wait()
	return nil
}

// begin admits one start. The caller must call g.starting.Done.
func (g *Group) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.starting.Add(1)
	return nil
}

func (g *Group) add(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.procs[p] = struct{}{}
}

func (g *Group) remove(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.procs, p)
}

func (g *Group) killAll() {
	for _, p := range g.running() {
		p.kill()
	}
}

func (g *Group) running() []*Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	procs := make([]*Process, 0, len(g.procs))
	for p := range g.procs {
		procs = append(procs, p)
	}
	return procs
}

func (g *Group) waiting() []*Standby {
	g.mu.Lock()
	defer g.mu.Unlock()
	standbys := make([]*Standby, 0, len(g.standbys))
	for s := range g.standbys {
		standbys = append(standbys, s)
	}
	return standbys
}

// maxDraining bounds the pipes that are kept open for processes that calls left behind. Otherwise a
// plugin that leaves a process behind at each call could use up the host's descriptors. The pipes
// also count against the descriptors of all plugins.
const maxDraining = 64

// keepDraining keeps the pipe of an ended call open, because a process that the call left behind
// still holds the other end. Closing the pipe would kill that process with SIGPIPE at its next
// output, and with it for example an upload. If keepDraining returns true, the caller reads and
// discards the output, and calls doneDraining at the end. If it returns false, the caller must
// close the pipe: the group is closed, too many pipes are open, or no descriptor is left.
func (g *Group) keepDraining(f *os.File) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.draining) >= maxDraining || g.descriptors.Take(1) != nil {
		return false
	}
	g.draining[f] = struct{}{}
	g.work.Add(1)
	_ = f.SetReadDeadline(time.Time{})
	return true
}

// doneDraining releases a pipe that keepDraining accepted.
func (g *Group) doneDraining(f *os.File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.draining, f)
	g.descriptors.Give(1)
	g.work.Done()
}

// endDraining ends the reading of the pipes that are being drained. Their holders have been killed
// by now. The deadline is for a holder that could not be killed.
func (g *Group) endDraining() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f := range g.draining {
		_ = f.SetReadDeadline(time.Now())
	}
}
