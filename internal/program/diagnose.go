package program

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// StartError says why a program would not start and what mends it.
type StartError struct {
	Path string // the program
	Why  string // the reason, a clause: "is not executable"
	Fix  string // what to do about it, a command where there is one; may be empty
	Err  error  // what the system said
}

// maxPath is how much of a path is told: a manifest may name one without end.
const maxPath = 512

// Error is the path and the reason.
func (e *StartError) Error() string {
	if e.Path == "" {
		return "cannot start: " + e.Why
	}
	return "cannot start " + excerpt.Of(e.Path, maxPath) + ": " + e.Why
}

// NotExecutable tells whether the mode of the program itself is the reason, and another one mends
// it.
func (e *StartError) NotExecutable() bool { return e.Path != "" && e.Fix == allowExecution(e.Path) }

func allowExecution(path string) string { return "chmod +x " + Quote(path) }

// Unwrap is what the system said.
func (e *StartError) Unwrap() error { return e.Err }

// Diagnose says why the program at path would not start, or would not run as a script, in an
// environment. err is what the attempt returned; nil asks whether an attempt would succeed, and so
// does a shell's "command not found" (exit code 127), which hides the reason. It looks at the file
// and changes nothing; the answer is never nil.
func Diagnose(path string, env []string, err error) *StartError {
	d := diagnosis{path: path, env: env}
	for _, look := range []func() (why, fix string){d.place, d.mount, d.mode, d.content} {
		if why, fix := look(); why != "" {
			return &StartError{Path: path, Why: why, Fix: fix, Err: err}
		}
	}
	why, fix := fromError(err, path)
	return &StartError{Path: path, Why: why, Fix: fix, Err: err}
}

// Uninterpreted says why the interpreter of a script would not start in an environment. It is nil
// where the file is no script, and where nothing can be seen that is wrong. A script that env runs
// starts all the same, and only then does env fail: this tells it before.
func Uninterpreted(path string, env []string) *StartError {
	head := Head(path)
	if !bytes.HasPrefix(head, []byte("#!")) {
		return nil
	}
	d := diagnosis{path: path, env: env}
	if why, fix := d.script(head); why != "" {
		return &StartError{Path: path, Why: why, Fix: fix, Err: fs.ErrNotExist}
	}
	return nil
}

// Explain is Diagnose for a program that was to be started in a directory. A missing working
// directory looks to the kernel like a missing program.
func Explain(path, dir string, env []string, err error) *StartError {
	if dir != "" {
		if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
			return &StartError{Path: path, Why: "its working directory " + dir + " does not exist", Fix: "mkdir -p " + Quote(dir), Err: err}
		}
	}
	return Diagnose(path, env, err)
}

// notInPath is the error of a bare name that was not found.
func notInPath(name string, env []string) error {
	path := lookup(env, "PATH")
	why := "is not in the PATH " + path
	if path == "" {
		why = "is a bare name, and the environment has no PATH"
	}
	return &StartError{Path: name, Why: why, Fix: "install " + name + ", or name the program by its full path", Err: fs.ErrNotExist}
}

// diagnosis is one look at a file, from the outside in.
type diagnosis struct {
	path string
	env  []string
	info fs.FileInfo // set by place
}

const reinstall = "reinstall the plugin"

// place: is there a file, and can it be reached?
func (d *diagnosis) place() (why, fix string) {
	info, err := os.Stat(d.path)
	d.info = info
	switch {
	case err == nil && info.IsDir():
		return "is a directory", "name the program inside it"
	case err == nil && !info.Mode().IsRegular():
		return "is not a regular file", reinstall
	case errors.Is(err, fs.ErrNotExist):
		return d.missing()
	case errors.Is(err, fs.ErrPermission):
		dir := closedParent(d.path)
		return "no permission to enter " + dir, "chmod +x " + Quote(dir)
	case err != nil:
		return cause(err).Error(), ""
	}
	return "", ""
}

// cause is what the system said, without the path, which is told already.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func (d *diagnosis) missing() (why, fix string) {
	if target, err := os.Readlink(d.path); err == nil {
		return "is a link to " + excerpt.Of(target, maxPath) + ", which does not exist", reinstall
	}
	return "no such file", reinstall
}

// closedParent is the outermost directory on the way that cannot be entered.
func closedParent(path string) string {
	dir := filepath.Dir(path)
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}

// mode: may it be executed?
func (d *diagnosis) mode() (why, fix string) {
	if executable(d.path) {
		return "", ""
	}
	if d.info.Mode().Perm()&0o111 != 0 {
		return "is not executable for this user", allowExecution(d.path)
	}
	return "is not executable", allowExecution(d.path)
}

// fromError is for what the file itself does not show.
func fromError(err error, path string) (why, fix string) {
	switch {
	case err == nil:
		return "no reason can be seen", ""
	case Busy(err):
		return "is busy: a program has it open for writing", "close or stop the program that writes it: fuser " + Quote(path)
	case errors.Is(err, syscall.E2BIG):
		return "its arguments and environment are too long", "pass less of either"
	case errors.Is(err, syscall.EAGAIN):
		return "this user has too many processes", "stop some, or raise ulimit -u; or its limit of processes, where it has one"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files", "raise ulimit -n; or its limit of open files, where it has one"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "look for a security policy (SELinux, AppArmor) that forbids it"
	}
	return err.Error(), ""
}

// Quote makes a path safe to paste into a shell.
func Quote(path string) string {
	safe := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r == '+' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if path != "" && strings.TrimFunc(path, safe) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
