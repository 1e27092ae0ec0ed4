package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// namePattern is the rule for names in docs/protocols/python.md, row P51.
var namePattern = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// decorator matches a decorator of the protocol at the start of a line.
var decorator = pattern.New(`(?m)^@on_(begin|tool_call|resolve_tool|tool_result|final|done)\b`)

// Decorated reports whether code looks like a plugin of this dialect.
func Decorated(content string) bool { return decorator.MatchString(content) }

// Path returns the file of the plugin of that name. It returns an error if no plugin can be saved
// under that name.
func Path(env dialect.Env, name string) (string, error) {
	if !namePattern.MatchString(name) {
		return "", fmt.Errorf("invalid plugin name: %.80q (letters, digits, _ and -, 64 at most)", name)
	}
	dir := folder(env)
	if dir == "" {
		return "", errors.New("there is no home directory for plugins: HOME is not set")
	}
	return filepath.Join(dir, name+".py"), nil
}

// Validated describes code that can be a plugin.
type Validated struct {
	Name     string          `json:"name"`
	Hooks    []string        `json:"hooks"` // in the order of a request
	Metadata json.RawMessage `json:"metadata"`
	Warnings []Warning       `json:"-"`
	Called   string          `json:"-"` // the name in __plugin__; another file may have it
}

// A Draft is code that is not a plugin yet.
type Draft struct {
	Name    string
	Content string
	Env     []string // names of further variables that the code gets, as in [dialect.Settings]
}

// Validate runs code as the plugin of that name, without saving it, and describes it. It returns a
// [*LoadError] if the code is not a plugin, or if no plugin can be saved under that name. The code
// runs in an interpreter of its own, in the sandbox of rt, so that code which hangs or crashes does
// not affect running plugins.
func (d *Dialect) Validate(ctx context.Context, rt *dialect.Runtime, draft Draft) (*Validated, error) {
	return d.tryOut(ctx, rt, methodValidate, draft)
}

// Inspect describes code without running it: whether it is Python, which functions are decorated,
// and which metadata it has as literals.
func (d *Dialect) Inspect(ctx context.Context, rt *dialect.Runtime, draft Draft) (*Validated, error) {
	return d.tryOut(ctx, rt, methodInspect, draft)
}

// Trial is added to the error of code that was tried in a sandbox without access to anything, and
// may have failed only for that reason.
const Trial = "it was tried out in a sandbox without network, in which it saw only the interpreter; this may be the reason"

// Tried adds [Trial] to the error of code that failed because of a file, a module or the network.
func Tried(err error) error {
	fault, ok := errors.AsType[*LoadError](err)
	if !ok || !fault.reaches {
		return err
	}
	explained := *fault
	explained.Problem.Message += "; " + Trial
	explained.tried = true
	return &explained
}

func (d *Dialect) tryOut(ctx context.Context, rt *dialect.Runtime, method string, draft Draft) (*Validated, error) {
	i, err := trialLaunch(rt, draft.Name).start(ctx)
	if err != nil {
		return nil, err
	}
	defer i.close()
	result, err := d.tell(ctx, i, rt, method, draft)
	i.endAfterRequest(ctx, err)
	return d.describe(ctx, i, draft, result, err)
}

// describe reads what an interpreter answered about a draft. An interpreter that did not answer has
// already been ended.
func (d *Dialect) describe(ctx context.Context, i *interpreter, draft Draft, result json.RawMessage, err error) (*Validated, error) {
	if err != nil {
		return nil, i.invalid(ctx, err, draft.Name, d.loadTimeout)
	}
	var about description
	if err := json.Unmarshal(result, &about); err != nil {
		return nil, hook.Failure(hook.Garbled, err)
	}
	return &Validated{Name: about.Name, Hooks: about.Hooks, Metadata: about.Metadata, Warnings: about.oddities(), Called: about.Called}, nil
}

// trialLaunch returns the launch of an interpreter for drafts, confined as the plugin of that name
// would be.
func trialLaunch(rt *dialect.Runtime, name string) *launch {
	l := &launch{procs: rt.Procs, env: rt.Env, dir: rt.Dir,
		log:  func(line string) { dialect.LogStderr(rt.Log, slog.LevelDebug, parseLine(line).text) },
		peer: wire.PeerOptions{Options: wire.Options{MaxSend: largest, MaxReceive: rt.Most(largest)}}}
	l.confine = func(s proc.Spec) proc.Spec {
		if path, err := Path(rt.Env, name); err == nil {
			return rt.Confined(s, path)
		}
		return rt.Confined(s)
	}
	return l
}

// tell sends a draft to the interpreter.
func (d *Dialect) tell(ctx context.Context, i *interpreter, rt *dialect.Runtime, method string, draft Draft) (json.RawMessage, error) {
	if err := i.lend(ctx, d.loadTimeout, rt.Env.Pick(draft.Env)); err != nil {
		return nil, err
	}
	return i.ask(ctx, d.loadTimeout, method, hook.Object{text("name", draft.Name), text("content", draft.Content)})
}

// endAfterRequest ends an interpreter after its last request. err is the error of that request, or
// nil.
func (i *interpreter) endAfterRequest(ctx context.Context, err error) {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		i.kill()
	} else {
		i.closeStdin(ctx)
	}
}

// invalid returns why code is not a plugin, or why that is unknown. Code that hangs or ends the
// interpreter is not a plugin: docs/protocols/python.md, row P31.
func (i *interpreter) invalid(ctx context.Context, err error, name string, within time.Duration) error {
	file := name + ".py"
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		at := blockedAt(i.process.Stderr(), func(path string) bool { return filepath.Base(path) == file })
		return tooLong(file, at, within)
	}
	err = loadFailure(file, err, i.process)
	if errors.Is(err, hook.Crash) {
		return fatal(file, i.process)
	}
	return err
}
