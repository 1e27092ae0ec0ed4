package proc

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// maxAnswer bounds the output of the tool of a shim: the path of a file.
const maxAnswer = 4 << 10

// resolve finds the program, and replaces a shim by the program it stands for. It does not do that
// for a program in a box: the plugin's files must not make the host run anything outside of the
// box. The box itself handles the shims of the operator.
func (g *Group) resolve(ctx context.Context, s Spec) (program.Command, error) {
	q := program.Request{Path: s.Path, Args: s.Args, Name: s.Name, Dir: s.Dir, Env: s.Env}
	if s.Box != nil {
		return program.Find(q)
	}
	return g.programs.Resolve(ctx, q)
}

// ask runs the tool of a shim, like any other child but without resolve, and returns its output.
func (g *Group) ask(ctx context.Context, q program.Request) ([]byte, error) {
	s := Spec{Path: q.Path, Args: q.Args, Dir: q.Dir, Env: q.Env}
	c := program.Command{Path: q.Path, Argv: append([]string{q.Path}, q.Args...), File: q.Path}
	p, err := g.spawn(ctx, s, c, startMode{perCall: true, brief: true})
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

// explain turns the error of a start into a [program.StartError], unless it is one already.
func explain(ctx context.Context, s Spec, c program.Command, err error) error {
	if _, known := errors.AsType[*program.StartError](err); known || ctx.Err() != nil {
		return err
	}
	if many, ok := errors.AsType[*limits.TooManyError](err); ok {
		return tooMany(c, many, err)
	}
	return program.Explain(c.File, s.Dir, s.Env, err)
}
