package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// programs runs the programs with which a system shows notifications.
type programs struct {
	group   *proc.Group
	environ []string // the whole environment of a program
	secrets scrubber
}

// A program is one call of a program.
type program struct {
	name  string
	args  []string
	stdin string
	env   []string // in addition to programs.environ
}

// environment lists the variables that a program needs to find the desktop, and that Windows needs
// to start any program. A program gets no others, so it gets no secrets.
var environment = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC",
}

func newPrograms(s *settings, o Options) (programs, error) {
	if o.Procs == nil {
		return programs{}, errors.New("needs a process group to start programs")
	}
	all := o.Environ
	if all == nil {
		all = os.Environ()
	}
	environ := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(environment, strings.ToUpper(name)) // Windows ignores the case of names
	})
	return programs{group: o.Procs, environ: environ, secrets: s.scrubber()}, nil
}

// getenv returns a variable of the environment that programs get.
func (p programs) getenv(name string) string {
	for _, v := range p.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

const (
	// programTimeout is the same as for a service. It also ends a program that waits for a
	// permission in a window.
	programTimeout = 10 * time.Second
	programGrace   = time.Second
	maxStdout      = 4 << 10 // it is read and ignored
)

// run runs a program until it exits. An exit code other than 0 is an error that contains the
// program's stderr.
func (p programs) run(ctx context.Context, prog program) error {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	spec := proc.Spec{Path: prog.name, Args: prog.args, Env: append(slices.Clip(p.environ), prog.env...)}
	result, err := p.group.Run(ctx, spec, proc.Call{Stdin: []byte(prog.stdin), MaxStdout: maxStdout, Grace: programGrace})
	if err != nil {
		return fmt.Errorf("%s: %w", prog.name, err)
	}
	if result.Exit.Code != 0 {
		return fmt.Errorf("%s: %s: %s", prog.name, result.Exit, p.secrets.scrub(result.Stderr))
	}
	return nil
}
