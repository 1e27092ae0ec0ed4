package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A Box confines the processes that are started in it. This package does not know how. It only
// starts the process that the box returns instead of the program.
type Box interface {
	// Pack returns the process to start so that the program runs confined. It starts nothing
	// itself.
	Pack(l Launch) (*Packed, error)
}

// A Builder is a Box that can be built before there is a program for it.
type Builder interface {
	Box
	// Build is Pack for a program that will be similar to the one of this launch. The box is built
	// when Await returns, and waits for Packed.Start. Build returns nil if nothing can be built
	// ahead.
	Build(l Launch) (*Packed, error)
}

// ErrStale is returned by Packed.Start if the box that was built ahead is not the one that the
// program must have now. Nothing was started.
var ErrStale = errors.New("the box that was built ahead is out of date")

// A Launch is a program that is ready to be started.
type Launch struct {
	Path   string   // the file to execute, absolute
	Argv   []string // with argv[0]
	Env    []string
	Dir    string // absolute
	Files  int    // the number of descriptors beyond the three standard ones
	Limits limits.Limits

	// ShimTarget returns the program that a shim of pyenv or a similar tool stands for, or "" if
	// that is not certain. It runs the shim's tool outside of any box. So the box must call it only
	// for shims that the operator installed, with the operator's own environment.
	ShimTarget func(shim string, environ []string) string

	// Descriptors counts the host's descriptors that the box uses while the program runs: see
	// [limits.Descriptors.Take].
	Descriptors *limits.Descriptors
}

// Packed is the process that is started instead of a program. It stands for the program: it ends
// when the program ends, in the same way, and if it is killed, the program and all its processes
// end too.
type Packed struct {
	Path  string
	Argv  []string
	Env   []string
	Files []*os.File // follow the descriptors of Spec.Files; closed after the start, successful or not

	// Await waits until the program runs, or returns why it does not: a [syscall.Errno] of its
	// execution, or an error of the confinement.
	Await func(ctx context.Context) error
	// Start runs a program in a box that was built ahead, and waits until it runs. It is nil if the
	// box was not built ahead. It returns [ErrStale], or errors as Await does.
	Start func(ctx context.Context, l Launch) error
	// Close is called when nothing of the process is left, or if it was not started.
	Close func()
}

// pack packs the command into the Spec's box, if it has one. If ahead is set, the box is built
// without a program.
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
		return nil, refusedError(c, err)
	case packed == nil:
		return nil, errNothingToBuild
	}
	return packed, nil
}

// errNothingToBuild means that the box cannot be built ahead.
var errNothingToBuild = errors.New("the box cannot be built ahead")

// launch describes a command for the box.
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
	target := func(shim string, environ []string) string {
		return g.programs.ShimTarget(ctx, shim, c.Argv[1:], dir, environ)
	}
	return Launch{Path: path, Argv: c.Argv, Env: s.Env, Dir: dir, Files: len(s.Files), Limits: s.Limits, ShimTarget: target, Descriptors: g.descriptors}, nil
}

// refusedError returns the error for a program that its box refuses to start, with the fix that the
// box names.
func refusedError(c program.Command, err error) error {
	return &program.StartError{Path: c.File, Why: "the sandbox refuses it: " + err.Error(), Fix: fixes.Of(err), Err: err}
}

// closeFiles closes the host's copies of the child's files.
func (p *Packed) closeFiles() {
	for _, f := range p.Files {
		_ = f.Close()
	}
}

// awaitProgram waits until the packed program runs. If it does not, it ends the process and returns
// why.
func (p *Process) awaitProgram(ctx context.Context, s Spec, c program.Command) error {
	if p.packed == nil {
		return nil
	}
	err := p.packed.Await(ctx)
	switch {
	case p.mode.ahead && err == nil:
		return nil // no program runs yet
	case p.mode.ahead:
		p.begin(s)
	default:
		close(p.awaited)
	}
	return p.endFailed(ctx, s, c, err)
}

// endFailed ends a process whose program failed to start, and returns an explained error.
func (p *Process) endFailed(ctx context.Context, s Spec, c program.Command, err error) error {
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
