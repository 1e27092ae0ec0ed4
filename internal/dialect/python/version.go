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

// unavailable puts an interpreter that would not start into words that name the one thing all
// plugins of this dialect need.
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

// outdated is the error of a Python whose version will not do. said is the bootstrap's last line.
func outdated(said string) *program.StartError {
	version := strings.TrimSuffix(strings.TrimSpace(said), " is too old")
	return &program.StartError{Path: "python3", Why: "is " + version + ", and Python plugins need " + oldest + " or newer", Fix: installPython}
}

// checkPython runs the start of the bootstrap, which looks at the version and, with nothing on
// stdin, no further. It is for the doctor, who has no processes.
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
		return &program.StartError{Path: "python3", Why: "ended with " + result.Exit.String() + ": " + hook.LastWords(result.Stderr), Fix: installPython}
	}
	return nil
}

// pythonSpec is how the interpreter is started. -I keeps it from the user's PYTHON* variables and
// from modules in the working directory, -B from writing beside what it imports. Its directory is
// the user's home, where no project's .python-version can choose an interpreter that will not do;
// the runner moves to the host's directory afterwards.
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
