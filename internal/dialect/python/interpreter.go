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

// A launch holds what is needed for each start of an interpreter.
type launch struct {
	procs *proc.Group
	env   dialect.Env
	dir   string // the working directory of plugins
	log   func(line string)
	peer  wire.PeerOptions

	confine func(proc.Spec) proc.Spec // applies the sandbox and the limits of the only plugin that it runs; nil: it is shared by the plugins that have neither
}

// start starts a process, gives it the runner's package and makes the handshake.
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
	// A process that has ended does not read. Its exit code says more than this error.
	_, _ = process.Stdin().Write(parcel())
	i := &interpreter{process: process, peer: wire.NewPeer(process.Stdout(), process.Stdin(), l.peer)}
	if err := i.hello(ctx, l.dir, spec.Box != nil); err != nil {
		i.kill()
		i.close()
		return nil, err
	}
	return i, nil
}

// hello makes the handshake. A sandboxed interpreter stays in its directory if it cannot see dir.
func (i *interpreter) hello(ctx context.Context, dir string, confined bool) error {
	params := hook.Object{{Name: "dir", Value: rawjson.String(dir)}, {Name: "confined", Value: json.RawMessage(strconv.FormatBool(confined))}}
	result, err := i.peer.Call(ctx, methodHello, params.JSON())
	if err != nil {
		return i.unstarted(ctx, err)
	}
	var h helloJSON
	if err := json.Unmarshal(result, &h); err != nil {
		return hook.Failure(hook.Garbled, fmt.Errorf("python3: the handshake: %w", err))
	}
	return nil
}

// unstarted returns why there was no handshake.
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
	return !errors.Is(err, context.DeadlineExceeded) // an interpreter that has ended need not be killed
}

// kill ends an interpreter that does not answer. SIGTERM makes it write its stacks.
func (i *interpreter) kill() {
	i.process.Stop(context.Background(), proc.Ladder{Term: stacksTime})
}

// closeStdin closes the interpreter's stdin, which makes it exit.
func (i *interpreter) closeStdin(ctx context.Context) {
	i.process.Stop(ctx, proc.Ladder{Stdin: exitTime, Term: stacksTime})
}

// close stops reading. The process has ended already.
func (i *interpreter) close() {
	_ = i.peer.Close() // the only error is that the pipes are closed
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

// ask sends one request with a timeout of its own.
func (i *interpreter) ask(ctx context.Context, within time.Duration, method string, params hook.Object) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return i.peer.Call(ctx, method, params.JSON())
}
