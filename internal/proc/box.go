package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A Box confines the processes that are started in it. What it keeps them from is its own affair;
// this package only starts what it is handed in the program's place.
type Box interface {
	// Pack says what is to be started so that the program runs confined. It starts nothing.
	Pack(l Launch) (*Packed, error)
}

// A Builder is a Box that can be built before there is a program for it.
type Builder interface {
	Box
	// Build is Pack for a program that may come, and is like the one of this launch. What it packs
	// is built when Await returns, and waits for Packed.Start. Nil: there is nothing to be built.
	Build(l Launch) (*Packed, error)
}

// ErrStale is returned by Packed.Start where what was built is not what the program must have now.
// Nothing was started.
var ErrStale = errors.New("what was built ahead is out of date")

// Launch is a program that is ready to be started.
type Launch struct {
	Path   string   // the file to execute, absolute
	Argv   []string // with argv[0]
	Env    []string
	Dir    string        // absolute
	Files  int           // how many descriptors it has beyond the three standard ones
	Limits limits.Limits // what it may use

	// Behind returns the program that a shim of pyenv or one of its relatives stands for, empty
	// where that is not certain. It runs the shim's tool outside of any box: the box must ask only
	// about shims that the operator installed, with the operator's own environment.
	Behind func(shim string, environ []string) string

	// Descriptors are where the box takes those of the host that it needs while the program runs:
	// see [limits.Descriptors.Take].
	Descriptors *limits.Descriptors
}

// Packed is what is started in a program's place. Its process stands for the program: it ends when
// the program ends, the way the program ended, and takes all of it along when it is killed.
type Packed struct {
	Path  string
	Argv  []string
	Env   []string
	Files []*os.File // become descriptors after those of Spec.Files; closed when the process was started, or was not

	// Await waits until the program runs, and returns why it does not: a [syscall.Errno] of its
	// execution, or anything that kept it from being confined.
	Await func(ctx context.Context) error
	// Start has a program run in what was built ahead, and waits until it does; nil for what was
	// not. It returns [ErrStale], or errors as Await does.
	Start func(ctx context.Context, l Launch) error
	// Over is called once nothing of the process is left, or where it was not started.
	Over func()
}

// pack puts the command into the Spec's box, if it has one, or has the box built for it.
func (g *Group) pack(ctx context.Context, s Spec, c program.Command, ahead bool) (*Packed, error) {
	if s.Box == nil {
		return nil, nil
	}
	l, err := g.launch(ctx, s, c)
	if err != nil {
		return nil, err
	}
	pack := s.Box.Pack
	if ahead {
		pack = s.Box.(Builder).Build
	}
	packed, err := pack(l)
	switch {
	case err != nil:
		return nil, unconfined(c, err)
	case packed == nil:
		return nil, errNothingToBuild
	}
	return packed, nil
}

// errNothingToBuild is why a box is not built ahead.
var errNothingToBuild = errors.New("there is nothing to be built ahead")

// launch is what the box is told of a command.
func (g *Group) launch(ctx context.Context, s Spec, c program.Command) (Launch, error) {
	dir := s.Dir
	var err error
	if dir == "" {
		dir, err = os.Getwd()
	}
	path := c.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if err != nil {
		return Launch{}, err
	}
	behind := func(shim string, environ []string) string {
		return g.programs.Behind(ctx, shim, c.Argv[1:], dir, environ)
	}
	return Launch{Path: path, Argv: c.Argv, Env: s.Env, Dir: dir, Files: len(s.Files), Limits: s.Limits, Behind: behind, Descriptors: g.descriptors}, nil
}

// unconfined is the error of a program that its box refuses to start. The box may say what mends
// it.
func unconfined(c program.Command, err error) error {
	e := &program.StartError{Path: c.File, Why: "the sandbox refuses it: " + err.Error(), Err: err}
	if refused, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok {
		e.Fix = refused.Fix()
	}
	return e
}

// closeFiles closes the host's side of what was for the child.
func (p *Packed) closeFiles() {
	for _, f := range p.Files {
		_ = f.Close()
	}
}

// settle waits until the packed program runs, and ends what was started where it does not.
func (p *Process) settle(ctx context.Context, s Spec, c program.Command) error {
	if p.packed == nil {
		return nil
	}
	err := p.packed.Await(ctx)
	switch {
	case p.birth.ahead && err == nil:
		return nil // nothing runs yet
	case p.birth.ahead:
		p.begin(s)
	default:
		close(p.heard)
	}
	return p.judge(ctx, s, c, err)
}

// judge ends a process whose program does not run for an error, and puts that into words.
func (p *Process) judge(ctx context.Context, s Spec, c program.Command, err error) error {
	if err == nil {
		return nil
	}
	p.kill()
	p.awaitEnd()
	p.release()
	if _, known := errors.AsType[*program.StartError](err); known || ctx.Err() != nil {
		return err
	}
	return explain(ctx, s, c, fmt.Errorf("in its sandbox: %w", err))
}
