package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An interpreter is one process of Python with the runner in it.
type interpreter struct {
	process *proc.Process
	peer    *wire.Peer
}

// A launch is what is needed to start an interpreter, again and again.
type launch struct {
	procs *proc.Group
	env   dialect.Env
	dir   string // where plugins work
	log   func(line string)
	peer  wire.PeerOptions

	confine func(proc.Spec) proc.Spec // into the sandbox of the one plugin that has this interpreter; nil: it is for all that have none
}

// start starts a process, hands it the runner's package and shakes hands.
func (l *launch) start(ctx context.Context) (*interpreter, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("python3 was not ready within %s", startTimeout))
	defer cancel()
	spec := pythonSpec(l.env)
	spec.Log = l.log
	if l.confine != nil {
		spec = l.confine(spec)
	}
	process, err := l.procs.Start(ctx, spec)
	if err != nil {
		return nil, unavailable(err)
	}
	// One that has ended already does not read: how it ended says more than this error.
	_, _ = process.Stdin().Write(parcel())
	i := &interpreter{process: process, peer: wire.NewPeer(process.Stdout(), process.Stdin(), l.peer)}
	if err := i.hello(ctx, l.dir, spec.Box != nil); err != nil {
		i.kill()
		i.close()
		return nil, err
	}
	return i, nil
}

// hello shakes hands. A confined interpreter stays where it is if it has no such directory.
func (i *interpreter) hello(ctx context.Context, dir string, confined bool) error {
	params := hook.Object{{Name: "dir", Value: rawjson.String(dir)}, {Name: "confined", Value: json.RawMessage(strconv.FormatBool(confined))}}
	result, err := i.peer.Call(ctx, methodHello, params.JSON())
	if err != nil {
		return i.unstarted(ctx, err)
	}
	var h helloWire
	if err := json.Unmarshal(result, &h); err != nil {
		return hook.Failure(hook.Garbled, fmt.Errorf("python3: the handshake: %w", err))
	}
	return nil
}

// unstarted says why there was no handshake.
func (i *interpreter) unstarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = dialect.CallFailure(err, i.process)
	if i.process.Exit().Code == tooOld {
		return outdated(i.process.Stderr())
	}
	return fmt.Errorf("python3: %w", err)
}

// answers reports whether the interpreter is not blocked.
func (i *interpreter) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	_, err := i.peer.Call(ctx, methodPing, nil)
	return !errors.Is(err, context.DeadlineExceeded) // one that has ended needs no killing
}

// kill ends a process that cannot be spoken with. SIGTERM makes it write where it is.
func (i *interpreter) kill() {
	i.process.Stop(context.Background(), proc.Ladder{Term: lastWords})
}

// bid lets the process end by itself: it does when its stdin is closed.
func (i *interpreter) bid(ctx context.Context) {
	i.process.Stop(ctx, proc.Ladder{Stdin: farewell, Term: lastWords})
}

// close ends the reading; the process is gone already.
func (i *interpreter) close() {
	_ = i.peer.Close() // it can only say that the pipes are closed
}

// lend adds variables to the interpreter's environment.
func (i *interpreter) lend(ctx context.Context, within time.Duration, list []string) error {
	var vars hook.Object
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		vars = append(vars, hook.Field{Name: name, Value: rawjson.String(value)})
	}
	if len(vars) == 0 {
		return nil
	}
	if _, err := i.ask(ctx, within, methodEnviron, hook.Object{{Name: "vars", Value: vars.JSON()}}); err != nil {
		return callFailure(err, i.process)
	}
	return nil
}

// ask makes one request that must be answered within a time of its own.
func (i *interpreter) ask(ctx context.Context, within time.Duration, method string, params hook.Object) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return i.peer.Call(ctx, method, params.JSON())
}
