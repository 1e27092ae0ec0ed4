package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// namePattern: the rulings, "a name outside ^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$ is
// 400 (no path escapes the directory)".
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// Path is where the plugin of a name is, or would be saved. The error is for a
// name that no plugin can be saved under.
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

// Validate runs code as a plugin of that name would be, without saving it, and
// says what it is. Code that is no plugin is a [*LoadError], and so is a name
// under which no plugin can be saved. It runs in an interpreter of its own: code
// that hangs or crashes must cost the plugins at work nothing.
func (d *Dialect) Validate(ctx context.Context, rt *dialect.Runtime, name, content string) (*Validated, error) {
	return d.tryOut(ctx, rt, methodValidate, name, content)
}

// Save does what Validate does and then replaces the file of that name, at once
// and as a whole; see [Path]. Where the code is no plugin the old file stays.
func (d *Dialect) Save(ctx context.Context, rt *dialect.Runtime, name, content string) (*Validated, error) {
	return d.tryOut(ctx, rt, methodSave, name, content)
}

func (d *Dialect) tryOut(ctx context.Context, rt *dialect.Runtime, method, name, content string) (*Validated, error) {
	l := launch{procs: rt.Procs, env: rt.Env, dir: rt.Dir,
		log:  func(line string) { rt.Log.Debug("stderr", "line", line) },
		peer: wire.PeerOptions{Options: wire.Options{MaxSend: largest, MaxReceive: largest}}}
	i, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	defer i.close()
	result, err := i.ask(ctx, d.loadTimeout, method, hook.Object{text("name", name), text("content", content)})
	i.dismiss(ctx, err)
	if err != nil {
		return nil, i.invalid(ctx, err, name, d.loadTimeout)
	}
	var about description
	if err := json.Unmarshal(result, &about); err != nil {
		return nil, hook.Failure(hook.Garbled, err)
	}
	return &Validated{Name: about.Name, Hooks: about.Hooks, Metadata: about.Metadata, Warnings: about.Warnings, Called: about.Called}, nil
}

// dismiss ends an interpreter after its one request.
func (i *interpreter) dismiss(ctx context.Context, err error) {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		i.kill()
	} else {
		i.bid(ctx)
	}
}

// invalid says why code is no plugin, or why that is not known.
func (i *interpreter) invalid(ctx context.Context, err error, name string, within time.Duration) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return hook.Failure(hook.Timeout, fmt.Errorf("%s took more than %s to load", name, within))
	}
	return loadFailure(name+".py", err, i.process)
}
