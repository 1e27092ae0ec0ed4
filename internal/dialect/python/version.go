package python

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
)

const installPython = "install Python " + oldest + " or newer, so that python3 is found first in PATH"

// unavailable explains that Python plugins need Python, if the interpreter cannot be started for
// lack of it.
func unavailable(err error) error {
	start, ok := errors.AsType[*program.StartError](err)
	if !ok {
		return err
	}
	why := start.Why
	if errors.Is(err, fs.ErrNotExist) {
		why += ", and Python plugins need Python " + oldest + " or newer"
	}
	return &program.StartError{Path: start.Path, Why: why, Fix: installPython, Err: err}
}

// outdated returns the error of a Python that is too old. said is what the bootstrap wrote to
// stderr.
func outdated(said string) *program.StartError {
	version := strings.TrimSuffix(strings.TrimSpace(said), " is too old")
	return &program.StartError{Path: "python3", Why: "is " + version + ", and Python plugins need " + oldest + " or newer", Fix: installPython}
}

// checkPython runs the start of the bootstrap, which checks the version and exits, since its stdin
// is empty. It is for the doctor, which has no process group.
func checkPython(env dialect.Env) *program.StartError {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	group := proc.NewGroup(nil)
	defer group.Close()
	result, err := group.Run(ctx, pythonSpec(env), proc.Call{MaxStdout: 1})
	switch {
	case err != nil:
		if start, ok := errors.AsType[*program.StartError](unavailable(err)); ok {
			return start
		}
		return &program.StartError{Path: "python3", Why: err.Error(), Fix: installPython, Err: err}
	case result.Exit.Code == tooOld:
		return outdated(result.Stderr)
	case result.Exit.Code != 0:
		return &program.StartError{Path: "python3", Why: "ended with " + result.Exit.String() + ": " + hook.ReasonLine(result.Stderr), Fix: installPython}
	}
	return nil
}

// pythonSpec says how the interpreter is started. -I makes it ignore the user's PYTHON* variables
// and modules in the working directory, -B keeps it from writing compiled files. Its directory is
// the user's home, so that no .python-version of a project chooses the interpreter; the runner
// changes to the host's directory later.
func pythonSpec(env dialect.Env) proc.Spec {
	home := env.Home()
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		home = ""
	}
	return proc.Spec{
		Path: "python3",
		Args: []string{"-I", "-B", "-X", "utf8", "-c", bootstrap},
		Dir:  home,
		Env:  env.Pick(dialect.BaseNames),
	}
}
