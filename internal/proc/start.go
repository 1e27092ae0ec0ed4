package proc

import (
	"context"
	"errors"
	"os"
	"time"

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
		return &program.StartError{Path: s.Path, Why: err.Error(), Fix: fixOf(err), Err: err}
	}
	return nil
}

// fixOf returns the fix that an error names, if any.
func fixOf(err error) string {
	if f, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok {
		return f.Fix()
	}
	return ""
}

// spawn creates the pipes, the process, its mark and its two goroutines. It takes the descriptors
// for the process, which are given back when the process has ended or was not created.
func (g *Group) spawn(ctx context.Context, s Spec, c program.Command, b startMode) (*Process, error) {
	if err := g.takeFor(s, c); err != nil {
		return nil, err
	}
	cost := s.descriptors()
	defer func() { g.descriptors.Give(cost) }()
	pipes, err := openPipes()
	if err != nil {
		return nil, err
	}
	defer pipes.closeChild()
	enforcer, err := g.cgroups.Enforcer(s.Limits, s.Box != nil, g.log)
	if err != nil {
		pipes.closeHost()
		return nil, &program.StartError{Path: c.File, Why: err.Error(), Err: err}
	}
	s.Limits = enforcer.Rest(s.Limits)
	packed, err := g.pack(ctx, s, c, b.ahead)
	if err != nil {
		enforcer.Abandon()
		pipes.closeHost()
		return nil, err
	}
	attr := &os.ProcAttr{
		Dir:   s.Dir,
		Env:   append([]string{}, s.Env...), // nil would mean the host's own
		Files: append(pipes.child[:], s.Files...),
		Sys:   childAttr(),
	}
	run := c
	if packed != nil {
		defer packed.closeFiles()
		run = program.Command{Path: packed.Path, Argv: packed.Argv, File: c.File}
		attr.Dir, attr.Env, attr.Files = "/", packed.Env, append(attr.Files, packed.Files...)
	}
	enforcer.Attach(attr.Sys)
	var mark uint64
	proc, err := whileBusy(ctx, func() (*os.Process, error) {
		return g.hold.start(g.log, run, attr, func(pid int) {
			if enforcer.Set(pid) {
				mark = g.mark(pid)
			}
		})
	})
	if err == nil {
		err = limitError(c, enforcer.Check(proc))
	}
	if err != nil {
		enforcer.Abandon()
		pipes.closeHost()
		if packed != nil {
			packed.Close()
		}
		return nil, explain(ctx, s, c, err)
	}
	p := &Process{
		group:   g,
		os:      proc,
		mark:    mark,
		mode:    b,
		linger:  s.Linger,
		packed:  packed,
		awaited: make(chan struct{}),
		limits:  enforcer,
		stdin:   pipes.stdin,
		stdout:  pipes.stdout,
		stderr:  newStderr(pipes.stderr, s.Log),
		left:    make(chan struct{}),
		done:    make(chan struct{}),
		hurry:   make(chan struct{}),
		cost:    cost,
	}
	cost = 0 // from now on p gives them back
	g.add(p)
	g.work.Add(2)
	if !b.ahead {
		go p.stderr.run(g)
	}
	go p.watch()
	pipes.closeChild() // so that the end of the pipes and of the box's files is seen
	if packed != nil {
		packed.closeFiles()
	}
	if err := p.awaitProgram(ctx, s, c); err != nil {
		return nil, err
	}
	return p, nil
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
