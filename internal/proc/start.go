package proc

import (
	"context"
	"os"
	"time"

	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// maxBusyTries is how often a start is repeated while the file is busy, with pauses of 1, 2, 4 …
// ms: more than a tenth of a second in all. The forks that make a file busy last microseconds.
const maxBusyTries = 7

// A Spec describes the process to start.
type Spec struct {
	// Path is the program. With a slash it is a file, relative to Dir. Without one it is looked up
	// in the PATH of Env, and nowhere else.
	Path string
	Args []string // without argv[0]
	Name string   // argv[0]; Path if empty
	Dir  string   // working directory; the host's if empty
	Env  []string // the whole environment; nothing is added to it

	// Check, if not nil, is called right before the process is started. If it returns an error, the
	// process is not started.
	Check func() error

	// Box, if not nil, confines the process.
	Box Box

	// Limits apply to the process and all processes that it starts.
	Limits limits.Limits

	// Files become descriptors 3, 4, … of the child, which inherits no others. The caller closes
	// them.
	Files []*os.File

	// Linger is how long the host waits for the processes that the program leaves behind when it
	// exits, in case they are ending too. Those still running then are killed as usual, and
	// Process.Left reports it. With 0 the host does not wait. Linger has no effect for a process
	// per call, nor in a box, whose processes all end with the program.
	Linger time.Duration

	// Log is called with each line of stderr, cut to a maximum length, on one goroutine. If it is
	// nil, lines are dropped, but the end of stderr is still kept. It must be quick: stderr is not
	// read while it runs.
	Log func(line string)
}

// Start starts a process that runs until it exits or Stop ends it. ctx bounds only the start. The
// error for a program that cannot be started is a *[program.StartError]. When the leader ends, the
// rest of its group is killed.
func (g *Group) Start(ctx context.Context, s Spec) (*Process, error) {
	return g.start(ctx, s, startMode{})
}

// start starts every child of the group. When it returns, the child is marked. The guardian is up
// too, unless several processes are being started together.
func (g *Group) start(ctx context.Context, s Spec, b startMode) (*Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	defer g.starting.Done()
	if err := s.check(); err != nil {
		return nil, err
	}
	guardian := g.guard()
	if g.together.Load() == 0 {
		defer guardian.awaitUp()
	}
	c, err := g.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	if b.brief {
		if p, err := g.startSpare(ctx, s, c); p != nil || err != nil {
			return p, err
		}
	}
	return g.spawn(ctx, s, c, b)
}

// Guard starts the guardian in the background, if there is none. Every start of a process does that
// too; a caller that will start some, and has something else to do before, calls Guard first.
func (g *Group) Guard() { g.guard() }

// guard returns the guardian, and starts it if there is none.
func (g *Group) guard() *guardianProcess {
	g.inherit.Do(func() {
		if err := closeInherited(); err != nil {
			g.log.Warn("descriptors that the host inherited may reach plugins", "err", err)
		}
	})
	return g.guardian.ensure(g.log, g.marks.all(), g.unmarked)
}

// check calls Check, and wraps its error.
func (s *Spec) check() error {
	if s.Check == nil {
		return nil
	}
	if err := s.Check(); err != nil {
		return &program.StartError{Path: s.Path, Why: err.Error(), Fix: fixes.Of(err), Err: err}
	}
	return nil
}

// spawn creates a process. It takes the descriptors for it, which are given back when the process
// has ended or was not created.
func (g *Group) spawn(ctx context.Context, s Spec, c program.Command, b startMode) (*Process, error) {
	if err := g.takeFor(s, c); err != nil {
		return nil, err
	}
	p := &Process{group: g, mode: b, linger: s.Linger, cost: s.descriptors(),
		awaited: make(chan struct{}), left: make(chan struct{}), done: make(chan struct{}), hurry: make(chan struct{})}
	if err := p.create(ctx, s, c); err != nil {
		p.abandon()
		return nil, err
	}
	g.add(p)
	g.work.Add(2)
	if !b.ahead {
		go p.stderr.run(g)
	}
	go p.watch()
	if err := p.awaitProgram(ctx, s, c); err != nil {
		return nil, err
	}
	return p, nil
}

// create creates the pipes, the process and its mark. It closes the child's ends of the pipes and
// the files of the box, so that the host sees when the child closes them.
func (p *Process) create(ctx context.Context, s Spec, c program.Command) error {
	pipes, err := openPipes()
	if err != nil {
		return err
	}
	defer pipes.closeChild()
	p.stdin, p.stdout, p.stderr = pipes.stdin, pipes.stdout, newStderr(pipes.stderr, s.Log)
	if p.limits, err = p.group.cgroups.Enforcer(s.Limits, s.Box != nil, p.group.log); err != nil {
		return &program.StartError{Path: c.File, Why: err.Error(), Err: err}
	}
	s.Limits = p.limits.Rest(s.Limits)
	if p.packed, err = p.group.pack(ctx, s, c, p.mode.ahead); err != nil {
		return err
	}
	attr := &os.ProcAttr{
		Dir:   s.Dir,
		Env:   append([]string{}, s.Env...), // nil would mean the host's own
		Files: append(pipes.child[:], s.Files...),
		Sys:   childAttr(),
	}
	run := c
	if p.packed != nil {
		defer p.packed.closeFiles()
		run = program.Command{Path: p.packed.Path, Argv: p.packed.Argv, File: c.File}
		attr.Dir, attr.Env, attr.Files = "/", p.packed.Env, append(attr.Files, p.packed.Files...)
	}
	p.limits.Attach(attr.Sys)
	p.os, err = whileBusy(ctx, func() (*os.Process, error) {
		return p.group.hold.start(p.group.log, run, attr, func(pid int) {
			if p.limits.Set(pid) {
				p.mark = p.group.mark(pid)
			}
		})
	})
	if err == nil {
		err = limitError(c, p.limits.Check(p.os))
	}
	if err != nil {
		return explain(ctx, s, c, err)
	}
	return nil
}

// abandon releases what was taken and created for a process that was not created.
func (p *Process) abandon() {
	p.limits.Abandon()
	if p.stderr != nil {
		closeAll(p.stdin, p.stdout, p.stderr.src)
	}
	if p.packed != nil {
		p.packed.Close()
	}
	p.group.descriptors.Give(p.cost)
}

// limitError returns the error for a program whose limits cannot be set, or nil if err is nil.
func limitError(c program.Command, err error) error {
	if err == nil {
		return nil
	}
	return &program.StartError{Path: c.File, Why: "its limits cannot be set: " + err.Error(), Err: err}
}

// fork starts the program without a mark.
func fork(ctx context.Context, c program.Command, attr *os.ProcAttr) (*os.Process, error) {
	return whileBusy(ctx, func() (*os.Process, error) { return os.StartProcess(c.Path, c.Argv, attr) })
}

// whileBusy repeats a start while the program's file is busy.
func whileBusy(ctx context.Context, start func() (*os.Process, error)) (*os.Process, error) {
	for try := 0; ; try++ {
		proc, err := start()
		if err == nil || !program.Busy(err) || try == maxBusyTries {
			return proc, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Millisecond << try):
		}
	}
}

// startFree starts the program without holding it.
func startFree(c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	proc, err := os.StartProcess(c.Path, c.Argv, attr)
	if err == nil {
		born(proc.Pid)
	}
	return proc, err
}

// mark marks a new process and returns the mark. If that fails, it reports the process group to the
// guardian and returns 0.
func (g *Group) mark(pid int) uint64 {
	value := g.marks.next()
	if value != 0 {
		err := setMark(pid, value)
		if err == nil {
			return value
		}
		g.marks.free(value)
		g.marks.failed.Do(func() {
			g.log.Warn("a process cannot be marked: its descendants that leave the process group may survive", "pid", pid, "err", err)
		})
	}
	g.guardian.sendPid(pid)
	return 0
}

// unmarked returns the processes without a mark, which the guardian knows only by their pids.
func (g *Group) unmarked() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var pids []int
	for p := range g.procs {
		if p.mark == 0 {
			pids = append(pids, p.Pid())
		}
	}
	return pids
}
