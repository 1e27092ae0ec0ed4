package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// Probe finds out what can be enforced here, by building a jail without a program. If something is
// not available, it builds up to two more. Each takes as long as the start of one process.
func Probe(ctx context.Context, g *proc.Group) *System {
	s := new(System)
	version := landlockVersion()
	if version == 0 {
		s.Landlock = errors.New("this kernel does not have it, or it is switched off")
	}
	s.Scoped = version >= 6
	if !filterHere {
		s.Filter = fmt.Errorf("no filter for %s has been written", runtime.GOARCH)
	}
	full := probeBox{plan: draft{Plan: jail.Plan{Probe: true, Path: "/", Dir: "/", Net: jail.Net{Broker: true, Ports: []uint16{1}},
		Mounts: []jail.Mount{inMemory("/tmp"), {Kind: jail.Proc, Target: "/proc"}}}}}
	full.plan.Loaders = [][]byte{make([]byte, headSize)} // no executable file begins with zeros
	s.Loader = full.run(ctx, g)
	if s.Loader != nil {
		full.plan.Loaders = nil
		s.Namespaces = full.run(ctx, g)
	}
	if s.Loader == nil && s.Filter != nil {
		s.Loader = fmt.Errorf("a program could leave the restriction by entering a new namespace: %w", s.Filter)
	}
	if s.Namespaces == nil && full.session.sockets != "redirect" {
		s.Redirect = errors.New("connections could not be redirected")
	}
	if s.Namespaces != nil && s.Landlock == nil {
		simple := probeBox{plan: full.plan}
		simple.plan.Simple, simple.plan.Mounts = true, nil
		s.Landlock = simple.run(ctx, g)
	}
	return s
}

// A probeBox is a box in which nothing is started.
type probeBox struct {
	plan    draft
	session *session
}

func (t *probeBox) Pack(proc.Launch) (*proc.Packed, error) {
	t.session = &session{box: New(Options{})}
	return t.session.pack(&t.plan)
}

func (t *probeBox) run(ctx context.Context, g *proc.Group) error {
	_, err := g.Run(ctx, proc.Spec{Path: "/proc/self/exe", Box: t}, proc.Call{})
	if start, ok := errors.AsType[*program.StartError](err); ok {
		return start.Err
	}
	return err
}
