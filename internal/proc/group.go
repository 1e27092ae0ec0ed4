package proc

import (
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

// Group is every process of one host, and the guardian that outlives it. It is safe for concurrent
// use.
type Group struct {
	log      *slog.Logger
	marks    *marks            // what each process is marked with
	guardian guardian          // who kills them all should the host die
	programs *program.Resolver // what is executed for a Spec
	inherit  sync.Once         // close-on-exec on what the host itself inherited
	hold     hold              // stopping processes before their first instruction
	together atomic.Int32      // how many starts of several processes are under way
	cgroups  *limits.Cgroups   // where limits are kept

	descriptors *limits.Descriptors // what all of it costs the host
	spares      *spares             // boxes that were built ahead

	closing  sync.Once      // Close
	closeErr error          // set in closing
	work     sync.WaitGroup // every goroutine of every process
	starting sync.WaitGroup // starts under way; added to under mu, while not closed

	mu       sync.Mutex // protects the fields below
	closed   bool
	procs    map[*Process]struct{} // started and not reaped
	standbys map[*Standby]struct{} // not closed
	adopted  map[*os.File]struct{} // pipes still held by what a call left behind
}

// NewGroup returns a group without processes; it starts nothing yet. A nil logger discards.
func NewGroup(log *slog.Logger) *Group {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &Group{
		log:         log,
		marks:       newMarks(),
		cgroups:     new(limits.Cgroups),
		descriptors: limits.HostDescriptors(),
		procs:       make(map[*Process]struct{}),
		standbys:    make(map[*Standby]struct{}),
		adopted:     make(map[*os.File]struct{}),
	}
	g.programs = program.NewResolver(g.ask)
	g.spares = newSpares(g)
	return g
}

// Together lets processes that are started from now on begin their work before the guardian is up;
// the function it returns waits for the guardian. Whoever starts several processes and talks to
// each before using any need not wait in between. The guardian itself is not started any later.
func (g *Group) Together() (guarded func()) {
	g.together.Add(1)
	return func() {
		g.together.Add(-1)
		g.guardian.present().awaitUp()
	}
}

// Close kills every process of the group at once, without a ladder, and returns when nothing of it
// is alive: not the leaders, not their groups, not what left them, not the guardian. Calls under
// way end as their process does. A second Close waits for the first.
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
	stuck += guard.Sweep(g.marks.all())
	if err := g.cgroups.Close(); err != nil {
		g.log.Warn("a cgroup is left behind", "err", err)
	}
	g.letGo()
	g.guardian.dismiss()
	if stuck > 0 { // their goroutines wait on; so must not we
		return fmt.Errorf("processes survive SIGKILL: %d", stuck)
	}
	g.work.Wait()
	return nil
}

// begin admits one start; the caller owes a g.starting.Done.
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

// maxAdopted bounds the pipes kept open for what calls left behind, so that a plugin that leaves
// something at each call cannot use up our descriptors. They count among those of all plugins, too.
const maxAdopted = 64

// adopt takes over a pipe whose call is finished but whose other end is still held by a process the
// call left behind. It is read on, to nowhere: closing it would kill that process with SIGPIPE at
// its next line of output, and a sink's upload with it. The caller reads, and calls disown at the
// end. False: there are too many already; the caller closes it.
func (g *Group) adopt(f *os.File) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.adopted) >= maxAdopted || g.descriptors.Take(1) != nil {
		return false
	}
	g.adopted[f] = struct{}{}
	g.work.Add(1)
	_ = f.SetReadDeadline(time.Time{})
	return true
}

// disown ends what adopt began.
func (g *Group) disown(f *os.File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.adopted, f)
	g.descriptors.Give(1)
	g.work.Done()
}

// letGo ends the reading of adopted pipes. Their holders have been killed by now; the deadline is
// for one that could not be.
func (g *Group) letGo() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f := range g.adopted {
		_ = f.SetReadDeadline(time.Now())
	}
}
