package proc

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// maxBusyTries is how often a file that is busy is tried again, with pauses of 1, 2, 4 … ms: a
// tenth of a second and more in all, while the forks that cause it last microseconds.
const maxBusyTries = 7

// Spec is what to start.
type Spec struct {
	// Path is the program. With a slash in it, it is a file, relative to Dir; without, it is looked
	// up in the PATH of Env, and nowhere else.
	Path string
	Args []string // without argv[0]
	Name string   // argv[0]; empty: Path
	Dir  string   // working directory; empty: the host's
	Env  []string // the whole environment, never added to; nil is an empty one

	// Check, where it is not nil, is asked right before the process is started. Its error is why
	// the process is not.
	Check func() error

	// Box, where it is not nil, is what the process is confined in.
	Box Box

	// Limits are what the process and all it starts may use.
	Limits limits.Limits

	// Files become descriptors 3, 4, … of the child, which inherits nothing else. The caller closes
	// them.
	Files []*os.File

	// Linger is how long what the program has left behind when it ends by itself is watched, in
	// case it is ending too. What is still there then is killed as ever, and Process.Left tells of
	// it. 0: nobody looks. It means nothing for a process per call, and for one in a box, whose end
	// is that of all inside.
	Linger time.Duration

	// Log gets each line of stderr, cut, on one goroutine; nil drops them (the tail is kept
	// anyway). It must be quick: while it does not return, stderr is not read.
	Log func(line string)
}

// Start starts a process that lives until it ends by itself or Stop ends it. ctx bounds the start
// only. A program that cannot be started is a *[program.StartError]. When the leader ends, what is
// left of its group is killed.
func (g *Group) Start(ctx context.Context, s Spec) (*Process, error) {
	p, err := g.start(ctx, s, birth{})
	if err != nil {
		return nil, err
	}
	growPipe(p.stdin)
	growPipe(p.stdout)
	return p, nil
}

// start is the one way into existence for every child. When it returns, the child is marked, and
// guarded unless it is one of several that are started together.
func (g *Group) start(ctx context.Context, s Spec, b birth) (*Process, error) {
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
	g.inherit.Do(func() {
		if err := closeInherited(); err != nil {
			g.log.Warn("descriptors the host inherited may reach plugins", "err", err)
		}
	})
	guardian := g.guardian.stand(g.log, g.marks.all(), g.unmarked)
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

// check asks whether the process may be started.
func (s *Spec) check() error {
	if s.Check == nil {
		return nil
	}
	if err := s.Check(); err != nil {
		return &program.StartError{Path: s.Path, Why: err.Error(), Fix: fixOf(err), Err: err}
	}
	return nil
}

// fixOf is what an error says would fix it.
func fixOf(err error) string {
	if f, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok {
		return f.Fix()
	}
	return ""
}

// spawn makes the pipes, the process, its mark and its two goroutines. The descriptors that it
// takes for the process are given back when that has ended, or was not made.
func (g *Group) spawn(ctx context.Context, s Spec, c program.Command, b birth) (*Process, error) {
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
		err = unlimited(c, enforcer.Check(proc))
	}
	if err != nil {
		enforcer.Abandon()
		pipes.closeHost()
		if packed != nil {
			packed.Over()
		}
		return nil, explain(ctx, s, c, err)
	}
	p := &Process{
		group:  g,
		os:     proc,
		mark:   mark,
		birth:  b,
		linger: s.Linger,
		packed: packed,
		heard:  make(chan struct{}),
		limits: enforcer,
		stdin:  pipes.stdin,
		stdout: pipes.stdout,
		stderr: newStderr(pipes.stderr, s.Log),
		left:   make(chan struct{}),
		done:   make(chan struct{}),
		hurry:  make(chan struct{}),
		cost:   cost,
	}
	cost = 0 // its own from now on
	g.add(p)
	g.work.Add(2)
	if !b.ahead {
		go p.stderr.run(g)
	}
	go p.watch()
	pipes.closeChild() // so that their ends are seen, and those of the box's
	if packed != nil {
		packed.closeFiles()
	}
	if err := p.settle(ctx, s, c); err != nil {
		return nil, err
	}
	return p, nil
}

// unlimited is the error of a program whose limits cannot be set; nil where err is.
func unlimited(c program.Command, err error) error {
	if err == nil {
		return nil
	}
	return &program.StartError{Path: c.File, Why: "its limits cannot be set: " + err.Error(), Err: err}
}

// fork starts the program as it is, unmarked.
func fork(ctx context.Context, c program.Command, attr *os.ProcAttr) (*os.Process, error) {
	return whileBusy(ctx, func() (*os.Process, error) { return os.StartProcess(c.Path, c.Argv, attr) })
}

// whileBusy tries a start again and again while the program's file is busy.
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

// startFree starts the program and lets it run.
func startFree(c program.Command, attr *os.ProcAttr, born func(pid int)) (*os.Process, error) {
	proc, err := os.StartProcess(c.Path, c.Argv, attr)
	if err == nil {
		born(proc.Pid)
	}
	return proc, err
}

// mark marks a new process, or failing that names its group to the guardian. It returns the value,
// or 0.
func (g *Group) mark(pid int) uint64 {
	value := g.marks.next()
	if value != 0 {
		err := setMark(pid, value)
		if err == nil {
			return value
		}
		g.marks.free(value)
		g.marks.failed.Do(func() {
			g.log.Warn("a process cannot be marked: what leaves its process group may survive", "pid", pid, "err", err)
		})
	}
	g.guardian.tell(pid)
	return 0
}

// unmarked are the processes that the guardian knows by name only.
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
