package proc

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// maxAnswer bounds what a program may say that is asked about another one: the path of a file.
const maxAnswer = 4 << 10

// resolve finds the program and looks past shims, but not for a program in a box: what its files
// say must not make the host run anything outside of it. The box looks past the shims of the
// operator itself.
func (g *Group) resolve(ctx context.Context, s Spec) (program.Command, error) {
	q := program.Request{Path: s.Path, Args: s.Args, Name: s.Name, Dir: s.Dir, Env: s.Env}
	if s.Box != nil {
		return program.Find(q)
	}
	return g.programs.Resolve(ctx, q)
}

// ask runs the tool of a shim, like any other child but without resolve, and returns what it says.
func (g *Group) ask(ctx context.Context, q program.Request) ([]byte, error) {
	s := Spec{Path: q.Path, Args: q.Args, Dir: q.Dir, Env: q.Env}
	c := program.Command{Path: q.Path, Argv: append([]string{q.Path}, q.Args...), File: q.Path}
	p, err := g.spawn(ctx, s, c, birth{perCall: true, brief: true})
	if err != nil {
		return nil, err
	}
	result, err := p.call(ctx, Call{MaxStdout: maxAnswer})
	if err == nil && result.Exit.Code != 0 {
		err = errors.New(result.Exit.String())
	}
	if err != nil {
		return nil, err
	}
	return result.Stdout, nil
}

// explain turns the failure of a start into a [program.StartError], unless it is one.
func explain(ctx context.Context, s Spec, c program.Command, err error) error {
	if _, known := errors.AsType[*program.StartError](err); known || ctx.Err() != nil {
		return err
	}
	if many, ok := errors.AsType[*limits.TooManyError](err); ok {
		return tooMany(c, many, err)
	}
	return program.Explain(c.File, s.Dir, s.Env, err)
}
