package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// namePattern: the rulings, "a name outside ^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$ is 400 (no path
// escapes the directory)".
var namePattern = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// Path is where the plugin of a name is, or would be saved. The error is for a name that no plugin
// can be saved under.
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

// A Validated is code that would do as a plugin.
type Validated struct {
	Name     string          `json:"name"`
	Hooks    []string        `json:"hooks"` // in the order of a request
	Metadata json.RawMessage `json:"metadata"`
	Warnings []string        `json:"-"`
	Called   string          `json:"-"` // what the code calls itself; another file may have that name
}

// A Draft is code that is not a plugin yet.
type Draft struct {
	Name    string
	Content string
	Env     []string // names of variables that the code is given beside the usual ones, as [dialect.Settings] has them
}

// Validate runs code as a plugin of that name would be, without saving it, and says what it is.
// Code that is no plugin is a [*LoadError], and so is a name under which no plugin can be saved. It
// runs in an interpreter of its own, and in the sandbox that the runtime has: code that hangs or
// crashes must cost the plugins at work nothing.
func (d *Dialect) Validate(ctx context.Context, rt *dialect.Runtime, draft Draft) (*Validated, error) {
	return d.tryOut(ctx, rt, methodValidate, draft)
}

// Inspect says what code is without running it: whether it is Python, which functions are
// decorated, and what it writes out of its metadata.
func (d *Dialect) Inspect(ctx context.Context, rt *dialect.Runtime, draft Draft) (*Validated, error) {
	return d.tryOut(ctx, rt, methodInspect, draft)
}

// Trial is what an error says of code that was tried out where it has nothing, and so may have
// failed for that reason alone.
const Trial = "it was tried out in a sandbox, without network and without files or programs but the interpreter's, which may be why"

// Tried adds [Trial] to an error of code that failed over something outside of itself.
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
	i.dismiss(ctx, err)
	if err != nil {
		return nil, i.invalid(ctx, err, draft.Name, d.loadTimeout)
	}
	var about description
	if err := json.Unmarshal(result, &about); err != nil {
		return nil, hook.Failure(hook.Garbled, err)
	}
	return &Validated{Name: about.Name, Hooks: about.Hooks, Metadata: about.Metadata, Warnings: about.oddities(), Called: about.Called}, nil
}

// trialLaunch is an interpreter for one draft, confined as its plugin would be.
func trialLaunch(rt *dialect.Runtime, name string) *launch {
	l := &launch{procs: rt.Procs, env: rt.Env, dir: rt.Dir,
		log:  func(line string) { rt.Log.Debug("stderr", "line", line) },
		peer: wire.PeerOptions{Options: wire.Options{MaxSend: largest, MaxReceive: rt.Most(largest)}}}
	l.confine = func(s proc.Spec) proc.Spec {
		if path, err := Path(rt.Env, name); err == nil {
			return rt.Confined(s, path)
		}
		return rt.Confined(s)
	}
	return l
}

// tell hands a draft to the interpreter.
func (d *Dialect) tell(ctx context.Context, i *interpreter, rt *dialect.Runtime, method string, draft Draft) (json.RawMessage, error) {
	if err := i.lend(ctx, d.loadTimeout, rt.Env.Pick(draft.Env)); err != nil {
		return nil, err
	}
	return i.ask(ctx, d.loadTimeout, method, hook.Object{text("name", draft.Name), text("content", draft.Content)})
}

// dismiss ends an interpreter after its one request.
func (i *interpreter) dismiss(ctx context.Context, err error) {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		i.kill()
	} else {
		i.bid(ctx)
	}
}

// invalid says why code is no plugin, or why that is not known. Code that hangs or ends the
// interpreter is none.
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
