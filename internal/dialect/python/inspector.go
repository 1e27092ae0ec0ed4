package python

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// An Inspector is an interpreter that inspects one draft after the other, as [Dialect.Inspect] does
// with an interpreter for each. It never runs a draft, so a draft cannot change the result of the
// next. It is not safe for concurrent use.
type Inspector struct {
	dialect *Dialect
	rt      *dialect.Runtime
	process *interpreter
	broken  bool
}

// OpenInspector starts an interpreter for drafts, in the sandbox that the runtime has. ctx bounds
// the start only.
func (d *Dialect) OpenInspector(ctx context.Context, rt *dialect.Runtime) (*Inspector, error) {
	i, err := trialLaunch(rt, "").start(ctx)
	if err != nil {
		return nil, err
	}
	return &Inspector{dialect: d, rt: rt, process: i}, nil
}

// Inspect describes code without running it. If the interpreter ended or was too slow,
// [Inspector.Broken] is true afterwards.
func (n *Inspector) Inspect(ctx context.Context, draft Draft) (*Validated, error) {
	result, err := n.dialect.tell(ctx, n.process, n.rt, methodInspect, draft)
	if _, answered := errors.AsType[*wire.RPCError](err); err != nil && !answered {
		n.broken = true
		n.process.endAfterRequest(ctx, err)
	}
	return n.dialect.describe(ctx, n.process, draft, result, err)
}

// Broken reports whether the interpreter can no longer be used. It must still be closed.
func (n *Inspector) Broken() bool { return n.broken }

// Close ends the interpreter.
func (n *Inspector) Close(ctx context.Context) {
	if !n.broken {
		n.process.closeStdin(ctx)
	}
	n.process.close()
}
